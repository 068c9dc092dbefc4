import CoderHost

/// Options of other programs that users try first.
enum ForeignOption {
    /// The option of this program that has the same effect.
    private struct Remedy {
        /// The option that the command must have.
        var key: String
        /// The word to write, in which `N` is the value as typed.
        var words: String
        /// The value of the example if none was typed.
        var usual: String
    }

    private static let remedies: [String: [Remedy]] = {
        let width = [Remedy(key: "--resize", words: "--resize Nx", usual: "800")]
        let height = [Remedy(key: "--resize", words: "--resize xN", usual: "600")]
        let folder = [Remedy(key: "--output", words: "-o N/", usual: "out")]
        var result: [String: [Remedy]] = [
            "--scale": [Remedy(key: "--resize", words: "--resize N", usual: "50%")],
            "--max-width": width, "--max-height": height, "-w": width, "--width": width, "--height": height,
            "--output-dir": folder, "--outdir": folder, "--out-dir": folder,
            "--strip-metadata": [Remedy(key: "--strip", words: "--strip all", usual: "")],
            "--strip-all": [Remedy(key: "--strip", words: "--strip all", usual: "")],
            "--force": [Remedy(key: "--overwrite", words: "--overwrite", usual: "")],
            "--background": [Remedy(key: "--bg", words: "--bg N", usual: "white")],
            "--watermark": [Remedy(key: "--overlay", words: "--overlay N", usual: "logo.png")],
            "--annotate": [Remedy(key: "--text", words: "--text N", usual: "TEXT")],
            "--strip-gps": [Remedy(key: "--strip", words: "--strip gps", usual: "")],
            "--negate": [Remedy(key: "--effect", words: "--effect invert", usual: "")],
        ]
        for name in ["--grayscale", "--greyscale", "--gray", "--grey", "--monochrome"] {
            result[name] = [Remedy(key: "--effect", words: "--effect grayscale", usual: "")]
        }
        for name in ["--sepia", "--invert"] {
            result[name] = [Remedy(key: "--effect", words: "--effect \(name.dropFirst(2))", usual: "")]
        }
        // The size of a thumbnail has another name.
        for (name, remedies) in result {
            result[name] =
                remedies
                + remedies.filter { $0.key == "--resize" }.map { remedy in
                    Remedy(key: "--size", words: "--size " + remedy.words.dropFirst(9), usual: remedy.usual)
                }
        }
        return result
    }()

    /// Returns the words to write instead of an unknown option; nil if it is none of another program.
    ///
    /// - Parameters:
    ///   - word: the option as typed, with an attached value.
    ///   - value: the next word.
    static func remedy(for word: String, value: String?, _ command: CommandSpecification) -> String? {
        let name = String(word.prefix { $0 != "=" }).lowercased()
        let known = remedies[name] ?? remedies["-" + name] ?? []
        guard let remedy = known.first(where: { remedy in command.allOptions.contains { $0.key == remedy.key } })
        else { return nil }
        let attached = word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) }
        var typed = attached ?? value ?? ""
        // A number of pixels, a percentage or a plain word; another option or a file name is no value.
        let isNumber = !typed.isEmpty && typed.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x25 }
        if remedy.usual.first?.isNumber ?? true, !isNumber { typed = "" }
        if typed.isEmpty || typed.hasPrefix("-") { typed = remedy.usual }
        while typed.hasSuffix("/") { typed.removeLast() }
        let parts = remedy.words.split(separator: "N", omittingEmptySubsequences: false)
        let word = printable(typed)
        return "write " + parts.joined(separator: word.contains(" ") ? "'\(word)'" : word)
    }
}
