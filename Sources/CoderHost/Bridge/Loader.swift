import Glibc

/// Whether the loader has mapped a library of this name already.
func isMapped(_ library: String) -> Bool {
    guard let handle = unsafe dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
    unsafe dlclose(handle)
    return true
}
