import Glibc

/// The program that this process runs.
package enum ProcessImage {
    /// Replaces this process with another program; returns only if that program cannot be started.
    package static func replace(with command: [String]) -> SystemError {
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        unsafe execv(command[0], &arguments)
        let error = SystemError.last
        unsafe arguments.forEach { unsafe free($0) }
        return error
    }

    /// The folder of this program and its installation prefix: the parent of `bin` or of `libexec/coderhost`.
    package static var place: (folder: String, prefix: String)? {
        guard let executable = executablePath, let slash = executable.lastIndex(of: "/") else { return nil }
        let folder = String(executable[..<slash])
        return (folder, folder.hasSuffix("/libexec/coderhost") ? "\(folder)/../.." : "\(folder)/..")
    }

    /// Returns the path of a program of this project: in the same folder, or in `libexec/coderhost`.
    package static func companion(_ name: String) -> String? {
        guard let place else { return nil }
        return ["\(place.folder)/\(name)", "\(place.prefix)/libexec/coderhost/\(name)"].first {
            FileStatus.of($0)?.isRegular == true
        }
    }
}
