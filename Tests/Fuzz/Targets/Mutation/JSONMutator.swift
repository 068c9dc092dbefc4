/// Damages a document token by token, so that most of the result is still nearly JSON.
public struct JSONMutator: Mutator {
    public init() {}

    /// Words, numbers, strings and signs, without the characters between them.
    static func tokens(_ bytes: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var at = 0
        while at < bytes.count {
            var end = at + 1
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09:
                at += 1
                continue
            case 0x22:
                while end < bytes.count, bytes[end] != 0x22 { end += bytes[end] == 0x5C ? 2 : 1 }
                end = min(bytes.count, end + 1)
            case let byte where Self.isWord(byte):
                while end < bytes.count, Self.isWord(bytes[end]) { end += 1 }
            default: break
            }
            result.append(Array(bytes[at..<end]))
            at = end
        }
        return result
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
            || [0x2B, 0x2D, 0x2E].contains(byte)
    }

    private static let strange = [
        "{", "}", "[", "]", ",", ":", "null", "true", "-0", "1e999", "9223372036854775808", "-9223372036854775808",
        "0.1",
        "1e-999", #""""#, #""\ud800""#, #""\u0000""#, "\"\u{7F}\u{FEFF}\"", #"{"all":[]}"#, #"{"at":-1,"bytes":"ff"}"#,
        #"{"riff":"WEBP","chunk":"VP8X","at":-9223372036854775808,"bytes":"02","mask":"02"}"#, #""ffd8ff""#, "[[[[[[[[",
        #"{"chunk":"acTL","before":"IDAT","from":-8}"#, #"{"brands":["heic"]}"#, "1", "255", #""f64""#, #""enum""#,
    ].map { Array($0.utf8) }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        var tokens = Self.tokens(bytes)
        let others = Self.tokens(other)
        for _ in 0...dice.below(4) {
            if tokens.isEmpty { tokens = [dice.pick(Self.strange)] }
            let at = dice.below(tokens.count)
            switch dice.below(7) {
            case 0: tokens.remove(at: at)
            case 1: tokens.insert(tokens[dice.below(tokens.count)], at: at)
            case 2: tokens.swapAt(at, dice.below(tokens.count))
            case 3: tokens[at] = dice.pick(Self.strange)
            case 4: if !others.isEmpty { tokens[at] = dice.pick(others) }
            case 5:
                let end = min(tokens.count, at + 1 + dice.below(12))
                tokens.insert(contentsOf: tokens[at..<end], at: dice.below(tokens.count))
            default: BytesMutator().change(&tokens[at], &dice)
            }
        }
        bytes = Array(tokens.joined())
    }
}
