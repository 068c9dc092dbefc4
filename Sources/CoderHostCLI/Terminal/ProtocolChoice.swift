import CoderHost
import ImageModel

/// How pictures are sent to a terminal.
enum PictureProtocol: String, CaseIterable {
    case kitty, iterm2, sixel, blocks, ascii
}

/// What is known of a terminal: what it answered, and what the environment says.
struct TerminalFacts: Hashable {
    var attributes: [Int]?
    var version: String?
    var answersGraphics = false
    var cellSize: PixelSize?
    var colorRegisters: Int?
    /// TERM, TERM_PROGRAM, COLORTERM.
    var kind = ""
    var program = ""
    var colors = ""
    /// A program between us and the terminal, which passes on what it understands itself.
    var isMultiplexed = false
    var isUTF8 = false

    init() {}

    /// - Parameter variable: looks up an environment variable.
    init(environment variable: (String) -> String?) {
        kind = variable("TERM") ?? ""
        program = variable("TERM_PROGRAM") ?? variable("LC_TERMINAL") ?? ""
        colors = variable("COLORTERM") ?? ""
        isMultiplexed = variable("TMUX") != nil || variable("STY") != nil
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty }?.lowercased() ?? ""
        // language.charset@modifier
        isUTF8 = locale.split { $0 == "." || $0 == "@" }.contains { $0 == "utf-8" || $0 == "utf8" }
    }

    mutating func take(_ answer: TerminalAnswer) {
        switch answer {
        case .attributes(let numbers): attributes = numbers
        case .version(let text): version = text
        case .graphics(let isOK): answersGraphics = isOK
        // A terminal that measures in other units than pixels says nonsense.
        case .cellSize(let size): if (1...512).contains(size.width), (1...512).contains(size.height) { cellSize = size }
        case .colorRegisters(let count): if count > 1 { colorRegisters = count }
        }
    }

    /// Whether 24 bits of colour are understood.
    var hasTrueColor: Bool {
        if colors == "truecolor" || colors == "24bit" { return true }
        let capable = ["direct", "kitty", "ghostty", "foot", "alacritty", "wezterm"]
        return kind.split(separator: "-").contains { capable.contains(String($0)) }
    }

    /// Whether the inline images of iTerm2 are understood.
    var takesInlineImages: Bool {
        guard !isMultiplexed else { return false }
        if let version, version.hasPrefix("iTerm2") || version.hasPrefix("WezTerm") { return true }
        return program == "iTerm.app" || program == "iTerm2" || program == "WezTerm"
    }

    var takesSixels: Bool { attributes?.dropFirst().contains(4) ?? false }

    /// The best the terminal understands.
    ///
    /// - Parameters:
    ///   - asks: Whether it could be asked; else the environment has to do.
    ///   - encodesPNG: Whether files can be made that inline images need.
    func best(asks: Bool, encodesPNG: Bool) -> PictureProtocol {
        if !isMultiplexed {
            if answersGraphics { return .kitty }
            if !asks, kind == "xterm-kitty" || kind == "xterm-ghostty" { return .kitty }
        }
        if takesInlineImages && encodesPNG { return .iterm2 }
        if takesSixels { return .sixel }
        return isUTF8 ? .blocks : .ascii
    }

    // MARK: Asking

    /// The question for every fact; attributes come last, because every terminal answers that.
    var questions: [UInt8] {
        var text = ""
        // tmux and screen would take it for a title; the Linux console shows it.
        if !isMultiplexed && kind != "linux" {
            text += "\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\"
        }
        text += "\u{1B}[>q\u{1B}[16t\u{1B}[?1;1;0S\u{1B}[c"
        return Array(text.utf8)
    }
}
