import CCoderPlugin
import CoderHost

/// A plugin's file as it is read without running it.
struct PluginFile {
    var manifest: PluginManifest
    var text: [UInt8]
    var image: ELFImage

    /// Why nothing can be judged.
    struct Refusal: Error {
        var reason: String
        var remedy: String
    }

    static func read(_ path: String) -> Result<PluginFile, Refusal> {
        func refuse(_ reason: String, _ remedy: String) -> Result<PluginFile, Refusal> {
            .failure(Refusal(reason: reason, remedy: remedy))
        }
        let image: ELFImage
        do throws(SystemError) {
            let file = try File(reading: path)
            let status = try file.status()
            guard status.isRegular else { return refuse("it is no regular file", "name the plugin's file") }
            do throws(ELFImage.Failure) {
                image = try ELFImage(file, size: status.size)
            } catch {
                switch error {
                case .notELF: return refuse("it is no shared object", "name the libcoder-*.so that was built")
                case .damaged(let why): return refuse("it is a damaged shared object: \(why)", "build it again")
                case .wrongArchitecture(let found, let wanted):
                    return refuse("it is built for \(found), this machine is \(wanted)", "build it for \(wanted)")
                }
            }
        } catch {
            return refuse("it cannot be read: \(error)", "check the path")
        }
        let notes = image.notes.filter { $0.owner == Array("CoderHost\0".utf8) && $0.type == CPI_NOTE_TYPE }
        guard notes.count == 1 else {
            return refuse(
                notes.isEmpty ? "it has no manifest note" : "it has \(notes.count) manifest notes, not one",
                "write one CPI_MANIFEST(…) at file scope in one C file")
        }
        let text = Array(notes[0].text.reversed().drop { $0 == 0 }.reversed())
        guard text.count <= Int(CPI_MANIFEST_LIMIT) else {
            return refuse("its manifest has \(text.count) bytes, more than 64 KiB", "shorten it")
        }
        do throws(PluginManifest.Failure) {
            let manifest = try PluginManifest(json: text)
            guard manifest.abiMajor == Int(CPI_ABI_MAJOR) else {
                return refuse(
                    "it is for major \(manifest.abiMajor) of the interface, this kit checks \(CPI_ABI_MAJOR)",
                    "use the kit of that major")
            }
            return .success(PluginFile(manifest: manifest, text: text, image: image))
        } catch {
            return refuse("its manifest cannot be used: \(error.message)", "correct the manifest and rebuild")
        }
    }
}
