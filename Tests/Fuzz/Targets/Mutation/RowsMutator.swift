/// Rows of farbfeld, PAM and binary PNM; the header declares the actual number of rows.
public struct RowsMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        guard let header = Header(bytes), header.rowBytes > 0, header.rowBytes <= bytes.count else {
            return (bytes, [])
        }
        let rows = stride(from: header.count, to: bytes.count, by: header.rowBytes).map { start in
            Part([], Array(bytes[start..<min(bytes.count, start + header.rowBytes)]))
        }
        return (Array(bytes[..<header.count]), rows)
    }

    /// Repeats or cuts every row to the width of the header.
    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        guard let header = Header(head) else { return head }
        let rows = parts.flatMap { row in
            (0..<header.rowBytes).map { row.data.isEmpty ? 0 : row.data[$0 % row.data.count] }
        }
        return header.bytes(height: parts.count) + rows
    }

    private struct Header {
        /// Bytes of the header.
        var count: Int
        var rowBytes: Int
        private var fields: [String]
        private let farbfeld = Array("farbfeld".utf8)

        init?(_ bytes: [UInt8]) {
            if bytes.starts(with: farbfeld), bytes.count >= 16 {
                (count, rowBytes, fields) = (16, bytes.big(8, 4) * 8, ["\(bytes.big(8, 4))"])
                return
            }
            // The byte mutator handles files with a comment.
            guard bytes.first == UInt8(ascii: "P"), !bytes.prefix(64).contains(UInt8(ascii: "#")) else { return nil }
            (count, rowBytes, fields) = (0, 0, [])
            var word = ""
            for byte in bytes.prefix(256) {
                count += 1
                guard [0x20, 0x09, 0x0A, 0x0D].contains(byte) else {
                    word.unicodeScalars.append(Unicode.Scalar(byte))
                    continue
                }
                if !word.isEmpty { fields.append(word) }
                word = ""
                if fields.last == "ENDHDR" || fields.count == Self.fieldCount(fields.first ?? "") { break }
            }
            guard let rowBytes = Self.rowBytes(fields) else { return nil }
            self.rowBytes = rowBytes
        }

        private static func fieldCount(_ kind: String) -> Int { ["P4": 3, "P5": 4, "P6": 4][kind] ?? .max }

        private static func rowBytes(_ fields: [String]) -> Int? {
            func number(_ index: Int) -> Int? {
                guard fields.indices.contains(index), let value = Int(fields[index]), value < 1 << 20 else {
                    return nil
                }
                return value
            }
            func named(_ name: String) -> Int? { fields.firstIndex(of: name).flatMap { number($0 + 1) } }
            switch fields.first {
            case "P4": return number(1).map { ($0 + 7) / 8 }
            case "P5", "P6":
                guard let width = number(1), let most = number(3) else { return nil }
                return width * (fields[0] == "P6" ? 3 : 1) * (most > 255 ? 2 : 1)
            case "P7":
                guard let width = named("WIDTH"), let depth = named("DEPTH"), let most = named("MAXVAL") else {
                    return nil
                }
                return width * depth * (most > 255 ? 2 : 1)
            default: return nil
            }
        }

        func bytes(height: Int) -> [UInt8] {
            guard fields.count > 1 else { return farbfeld + .big(Int(fields[0]) ?? 0, 4) + .big(height, 4) }
            guard fields[0] == "P7" else {
                return Array(
                    "\(fields[0])\n\(fields[1]) \(height)\n\(fields.dropFirst(3).map { "\($0)\n" }.joined())".utf8)
            }
            var lines = "P7\n"
            for index in stride(from: 1, to: fields.count - 2, by: 2) {
                lines += "\(fields[index]) \(fields[index] == "HEIGHT" ? "\(height)" : fields[index + 1])\n"
            }
            return Array((lines + "ENDHDR\n").utf8)
        }
    }
}
