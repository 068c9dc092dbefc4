import CHostSystem
import Glibc

/// Returns the file of a library that the loader has already mapped; nil if none has this name.
package func mappedPath(_ library: String) -> String? {
    // For a path, the loader would open the file.
    if library.utf8.contains(UInt8(ascii: "/")) { return nil }
    guard let handle = unsafe dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return nil }
    defer { unsafe dlclose(handle) }
    return unsafe host_path_of_library(handle).map { unsafe String(cString: $0) } ?? ""
}
