import HostSystem
import ImageModel

/// Finds the file of a font.
enum FontLookup {
    /// A font file, and the number of the font in it.
    struct Found {
        var path: String
        var index = 0
    }

    private static let suffixes = [".ttf", ".otf", ".ttc", ".otc", ".pfb"]
    /// The fonts to prefer without a name and without fontconfig.
    private static let preferred = ["dejavusans", "liberationsans", "notosans"]
    /// The remedy if no font is installed.
    static let remedy = "apt install fonts-dejavu-core, or pass a font file: --font FILE.ttf"
    /// The limits of a search in folders.
    private static let (maxDepth, maxEntries) = (6, 20_000)

    /// The folders of installed fonts.
    static var folders: [String] {
        let home = environment("HOME").map { [$0 + "/.local/share/fonts", $0 + "/.fonts"] } ?? []
        return ["/usr/share/fonts", "/usr/local/share/fonts"] + home
    }

    /// Returns the file of a font.
    ///
    /// - Parameters:
    ///   - name: a file, or the name of an installed family; nil for a sans-serif font.
    ///   - text: the characters that a font chosen without a name should have.
    ///   - folders: the folders to search instead of asking fontconfig.
    /// - Throws: `.notFound`.
    static func find(_ name: String?, for text: String, folders: [String]? = nil) throws(CoderError) -> Found {
        if let name, isFile(name) { return Found(path: name) }
        var substitute: String?
        if folders == nil {
            switch FontCatalogue.find(name, text.unicodeScalars.map(\.value).filter { $0 >= 32 }) {
            case .found(let path, let index): return Found(path: path, index: index)
            case .substitute(let family): substitute = family
            case .none: break
            }
        }
        let files = fontFiles(in: folders ?? Self.folders)
        if let found = best(files, name) { return Found(path: found) }
        guard let name, !files.isEmpty else {
            throw CoderError(.notFound, "no font is installed", hint: remedy)
        }
        throw CoderError(
            .notFound, "the font \"\(name)\" is not installed",
            hint: substitute.map { "--font \"\($0)\", or pass a font file: --font FILE.ttf" } ?? remedy)
    }

    private static func isFile(_ name: String) -> Bool {
        name.utf8.contains(UInt8(ascii: "/")) || suffixes.contains { name.lowercased().hasSuffix($0) }
    }

    /// Returns the file whose name is the wanted one without spaces, in its regular style.
    private static func best(_ files: [String], _ name: String?) -> String? {
        let stems = files.map { path in
            (path, FileName(path).stem.lowercased().filter { $0.isLetter || $0.isNumber })
        }
        let wanted = name.map { [$0.lowercased().filter { $0.isLetter || $0.isNumber }] } ?? preferred
        for stem in wanted {
            if let found = stems.first(where: { $0.1 == stem || $0.1 == stem + "regular" }) { return found.0 }
        }
        return name == nil ? (stems.first { $0.1.hasSuffix("sansregular") } ?? stems.first)?.0 : nil
    }

    /// Returns the font files in folders and their subfolders, in the order of their paths.
    private static func fontFiles(in folders: [String]) -> [String] {
        var (found, waiting, visited) = ([String](), folders.map { ($0, 0) }, 0)
        while let (folder, depth) = waiting.popLast() {
            guard let entries = try? directoryEntries(folder) else { continue }
            for entry in entries where !entry.hasPrefix(".") {
                visited += 1
                if visited > maxEntries { return found.sorted() }
                let path = folder + "/" + entry
                if suffixes.contains(where: { entry.lowercased().hasSuffix($0) }) {
                    found.append(path)
                } else if depth < maxDepth, FileStatus.of(path, followingLinks: false)?.isDirectory == true {
                    waiting.append((path, depth + 1))
                }
            }
        }
        return found.sorted()
    }
}
