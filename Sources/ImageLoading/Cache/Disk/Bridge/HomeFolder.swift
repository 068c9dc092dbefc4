import Glibc

/// The home of the user whom this process works for, as the system's list of users has it; nil where it has none.
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
