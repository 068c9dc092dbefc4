package import HostSystem

/// The manifest and the hash of a plugin file, read from the same bytes without running them.
package struct PluginInspection {
    package enum Failure: Error {
        case system(SystemError)
        case notAPlugin(String)
    }

    package let manifest: PluginManifest
    package let hash: ContentHash

    package init(_ path: String) throws(Failure) {
        guard let status = FileStatus.of(path) else { throw .system(.last) }
        // Opening a device can have side effects.
        guard status.isRegular else { throw .notAPlugin("it is not a regular file") }
        let file: File
        let size: Int
        do throws(SystemError) {
            file = try File(reading: path)
            let status = try file.status()
            size = status.size
            hash = try ContentHash(of: file, size: size)
            guard try file.status().identity == status.identity else { throw .stale }
        } catch {
            throw .system(error)
        }
        let image: ELFImage
        do throws(ELFImage.Failure) { image = try ELFImage(file, size: size) } catch {
            throw .notAPlugin(PluginScanner.status(error).reason)
        }
        let (manifest, _, problem) = PluginScanner.manifest(image)
        guard let manifest else { throw .notAPlugin(problem?.reason ?? "it has no manifest note") }
        self.manifest = manifest
    }
}
