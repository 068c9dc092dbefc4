package import CoderHost

extension ParsedArguments {
    /// Returns the operands with each folder replaced by its images in the order of their names, without subfolders.
    ///
    /// - Parameter output: the name of the output, which may be in the folder.
    /// - Throws: ``UsageError`` for a folder without images, or one that cannot be read.
    package func imagesInFolders(
        _ operands: [String], excluding output: String, _ host: CoderHost
    ) throws(UsageError) -> [String] {
        let written = FileStatus.of(output)?.identity
        var files: [String] = []
        for operand in operands {
            guard FileStatus.of(operand)?.isDirectory == true else {
                files.append(operand)
                continue
            }
            let folder = operand.hasSuffix("/") ? operand : operand + "/"
            let names: [String]
            do throws(SystemError) {
                names = try directoryEntries(folder)
            } catch {
                throw UsageError(
                    "the folder \(printable(operand)) cannot be read: \(error)", hint: "check its permissions",
                    exit: .noInput)
            }
            let images = names.filter { name in
                guard !name.hasPrefix("."), let suffix = FileName(name).suffix?.lowercased(),
                    host.manager.format(ofExtension: suffix) != nil, let status = FileStatus.of(folder + name)
                else { return false }
                return status.isRegular && !(written.map { $0.isSameFile(as: status.identity) } ?? false)
            }
            if images.isEmpty {
                throw UsageError(
                    "no images in the folder \(printable(operand))", hint: "subfolders are left out: name their files",
                    exit: .noInput)
            }
            files += images.map { folder + $0 }
        }
        return files
    }
}
