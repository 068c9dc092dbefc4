import CoderHost
import ImageModel

/// The protocols for images on a terminal.
enum ImageProtocol: String, CaseIterable {
    case kitty, iterm2, sixel, blocks, ascii
}

/// The capabilities of a terminal, from its answers and from the environment.
struct TerminalFacts: Hashable {
    var attributes: [Int]?
    var version: String?
    var answersGraphics = false
    var cellSize: PixelSize?
    var colorRegisters: Int?
    /// The values of TERM, TERM_PROGRAM and COLORTERM.
    var kind = ""
    var program = ""
    var colors = ""
    /// Whether tmux or screen runs between this process and the terminal. It passes on only sequences that it knows.
    var isMultiplexed = false
    var isUTF8 = false

    init() {}

    /// Reads the environment.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    init(environment variable: (String) -> String?) {
        kind = variable("TERM") ?? ""
        program = variable("TERM_PROGRAM") ?? variable("LC_TERMINAL") ?? ""
        colors = variable("COLORTERM") ?? ""
        isMultiplexed = variable("TMUX") != nil || variable("STY") != nil
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }?.lowercased() ?? ""
        // The form is language.charset@modifier.
        isUTF8 = locale.split { $0 == "." || $0 == "@" }.contains { $0 == "utf-8" || $0 == "utf8" }
    }

    mutating func take(_ answer: TerminalAnswer) {
        switch answer {
        case .attributes(let numbers): attributes = numbers
        case .version(let text): version = text
        case .graphics(let isOK): answersGraphics = isOK
        // Ignores implausible sizes: some terminals report other units than pixels.
        case .cellSize(let size): if (1...512).contains(size.width), (1...512).contains(size.height) { cellSize = size }
        case .colorRegisters(let count): if count > 1 { colorRegisters = count }
        }
    }

    /// Whether the terminal supports 24-bit colors.
    var hasTrueColor: Bool {
        if colors == "truecolor" || colors == "24bit" { return true }
        let capable = ["direct", "kitty", "ghostty", "foot", "alacritty", "wezterm"]
        return kind.split(separator: "-").contains { capable.contains(String($0)) }
    }

    /// Whether the terminal supports inline images of iTerm2.
    var takesInlineImages: Bool {
        guard !isMultiplexed else { return false }
        if let version, version.hasPrefix("iTerm2") || version.hasPrefix("WezTerm") { return true }
        return program == "iTerm.app" || program == "iTerm2" || program == "WezTerm"
    }

    var takesSixels: Bool { attributes?.dropFirst().contains(4) ?? false }

    /// Returns the best protocol that the terminal supports.
    ///
    /// - Parameters:
    ///   - asks: whether the terminal can answer queries; otherwise only the environment counts.
    ///   - encodesPNG: whether a PNG encoder is available, which inline images need.
    func best(asks: Bool, encodesPNG: Bool) -> ImageProtocol {
        if !isMultiplexed {
            if answersGraphics { return .kitty }
            if !asks, kind == "xterm-kitty" || kind == "xterm-ghostty" { return .kitty }
        }
        if takesInlineImages && encodesPNG { return .iterm2 }
        if takesSixels { return .sixel }
        return isUTF8 ? .blocks : .ascii
    }

    // MARK: Queries

    /// The queries for all capabilities. The device attributes come last, because every terminal answers this query.
    var questions: [UInt8] {
        var text = ""
        // tmux and screen would treat this query as a title; the Linux console would print it.
        if !isMultiplexed && kind != "linux" {
            text += "\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\"
        }
        text += "\u{1B}[>q\u{1B}[16t\u{1B}[?1;1;0S\u{1B}[c"
        return Array(text.utf8)
    }
}
