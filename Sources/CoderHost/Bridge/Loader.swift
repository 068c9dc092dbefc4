import Glibc

/// Whether the loader has mapped a library of this name already.
func isMapped(_ library: String) -> Bool {
    // For a path the loader would open the file, whatever it is.
    if library.utf8.contains(UInt8(ascii: "/")) { return false }
    guard let handle = unsafe dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
    unsafe dlclose(handle)
    return true
}
