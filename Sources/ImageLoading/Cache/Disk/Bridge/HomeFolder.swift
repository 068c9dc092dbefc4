import Glibc

/// Returns the home directory of the effective user from the user database; nil if there is none.
func homeOfUser() -> String? {
    var texts = [CChar](repeating: 0, count: 16 << 10)
    return unsafe texts.withUnsafeMutableBufferPointer { texts in
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        guard unsafe getpwuid_r(geteuid(), &entry, texts.baseAddress!, texts.count, &found) == 0, unsafe found != nil,
            let home = unsafe entry.pw_dir
        else { return nil }
        return unsafe String(cString: home)
    }
}
