/// Formats of lines of text; lines of one length and one first character are alike.
public struct LinesMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return ([], lines.map { Part([UInt8(truncatingIfNeeded: $0.count), $0.first ?? 0], Array($0)) })
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        Array(parts.map(\.data).joined(separator: [UInt8(ascii: "\n")]))
    }
}
