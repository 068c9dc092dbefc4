import CCoderPlugin
import CoderHost

/// A plugin's file, read without running it.
enum PluginFile {
    /// The reason why a file cannot be checked.
    struct Refusal: Error {
        var reason: String
        var remedy: String
    }

    static func image(_ path: String) throws(Refusal) -> ELFImage {
        let file: File
        let status: FileStatus
        do throws(SystemError) {
            file = try File(reading: path)
            status = try file.status()
        } catch {
            throw Refusal(reason: "it cannot be read: \(error)", remedy: "check the path")
        }
        guard status.isRegular else {
            throw Refusal(reason: "it is not a regular file", remedy: "name the plugin's file")
        }
        do throws(ELFImage.Failure) { return try ELFImage(file, size: status.size) } catch {
            throw Refusal(PluginScanner.status(error))
        }
    }

    static func manifest(_ path: String) throws(Refusal) -> PluginManifest {
        let (manifest, _, problem) = PluginScanner.manifest(try image(path))
        if let problem { throw Refusal(problem) }
        guard let manifest, manifest.abi.major == Int(CPI_ABI_MAJOR) else {
            throw Refusal(
                reason: "it needs interface major \(manifest?.abi.major ?? 0), but this kit checks \(CPI_ABI_MAJOR)",
                remedy: "use the kit of that major")
        }
        return manifest
    }
}

extension PluginFile.Refusal {
    fileprivate init(_ status: PluginStatus) {
        reason = status.reason
        remedy = status.remedy
    }
}
