import Glibc

/// The program that this process runs.
package enum ProcessImage {
    /// Runs another program in place of this one; comes back only when it cannot be started.
    package static func replace(with command: [String]) -> SystemError {
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        unsafe execv(command[0], &arguments)
        let error = SystemError.last
        unsafe arguments.forEach { unsafe free($0) }
        return error
    }

    /// The folder of this program, and the one that it is installed under, as `bin` or `libexec/coderhost` of it.
    static var place: (folder: String, prefix: String)? {
        guard let executable = executablePath, let slash = executable.lastIndex(of: "/") else { return nil }
        let folder = String(executable[..<slash])
        return (folder, folder.hasSuffix("/libexec/coderhost") ? "\(folder)/../.." : "\(folder)/..")
    }

    /// Where a program stands that belongs to this one: beside it, or where `make install` puts what nobody calls.
    package static func companion(_ name: String) -> String? {
        guard let place else { return nil }
        return ["\(place.folder)/\(name)", "\(place.prefix)/libexec/coderhost/\(name)"].first {
            FileStatus.of($0)?.isRegular == true
        }
    }
}
