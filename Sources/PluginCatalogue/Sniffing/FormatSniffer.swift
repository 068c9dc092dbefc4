/// Matches signatures against the first and last bytes of a file.
package struct FormatSniffer {
    /// The number of bytes read from the start.
    package static let headCount = 4096
    package static let tailCount = 64

    package let head: [UInt8]
    package let tail: [UInt8]
    /// The start of the content of a gzip file; nested gzip files are not expanded.
    private let inflated: [UInt8]

    package init(head: [UInt8], tail: [UInt8]) {
        self.init(head: head, tail: tail, inflated: GzipHead.inflate(head, limit: Self.headCount))
    }

    private init(head: [UInt8], tail: [UInt8], inflated: [UInt8]) {
        self.head = head
        self.tail = tail
        self.inflated = inflated
    }

    /// Returns the best score of the signatures: matched bits, with the rank on top; nil if none matches.
    package func score(_ signatures: [Signature]) -> Int? {
        var best: Int?
        for signature in signatures {
            guard let bits = score(signature) else { continue }
            best = max(best ?? 0, bits + signature.rank * 10_000)
        }
        return best
    }

    private func score(_ signature: Signature) -> Int? {
        var total = 0
        for rule in signature.rules {
            guard let bits = score(rule) else { return nil }
            total += bits
        }
        return total
    }

    private func score(_ rule: Signature.Rule) -> Int? {
        switch rule {
        case .bytes(let at, let bytes, let mask):
            return at >= 0
                ? match(head, at, bytes, mask)
                : match(tail, tail.count + at, bytes, mask)
        case .brands(let brands): return brands.contains(where: hasBrand) ? 64 : nil
        case .riff(let form): return isRIFF(form) ? 64 : nil
        case .riffChunk(let form, let chunk, let at, let bytes, let mask):
            guard isRIFF(form), head.count >= 20, head[12..<16].elementsEqual(chunk), at >= 0,
                let bits = match(head, 20 + at, bytes, mask)
            else { return nil }
            return 96 + bits
        case .chunk(let wanted, let stop, let from): return hasChunk(wanted, before: stop, from: from) ? 64 : nil
        // A weaker match than one byte at a fixed offset: other formats may contain this text too.
        case .find(let bytes, let within): return find(bytes, within: within) ? 1 : nil
        case .xmlRoot(let name, let namespace):
            guard let root = XMLRoot(head), root.name == name else { return nil }
            guard let namespace else { return 2 }
            return root.namespace == namespace ? 3 : nil
        case .tiffTag(let tag): return TIFFDirectory(head)?.has(tag: tag) == true ? 64 : nil
        case .gzip(let rule):
            // The gzip header adds its three bytes.
            return FormatSniffer(head: inflated, tail: [], inflated: []).score(rule).map { 24 + $0 }
        }
    }

    /// Returns whether the bytes occur with a start within the first `within` bytes.
    ///
    /// - Complexity: O(`within` + `bytes.count`), by the algorithm of Knuth, Morris and Pratt (1977).
    private func find(_ bytes: [UInt8], within: Int) -> Bool {
        guard !bytes.isEmpty else { return false }
        /// For each number of matched bytes, the number still matched after a mismatch.
        var fallback = [0, 0]
        for index in bytes.indices.dropFirst() {
            fallback.append(Self.advance(fallback[index], over: bytes[index], bytes, fallback))
        }
        let (end, overflows) = within.addingReportingOverflow(bytes.count - 1)
        var fitting = 0
        for byte in head.prefix(overflows ? head.count : max(0, end)) {
            fitting = Self.advance(fitting, over: byte, bytes, fallback)
            if fitting == bytes.count { return true }
        }
        return false
    }

    /// Returns the number of matched bytes after one more byte.
    private static func advance(_ fitting: Int, over byte: UInt8, _ bytes: [UInt8], _ fallback: [Int]) -> Int {
        var fitting = fitting
        while fitting > 0, bytes[fitting] != byte { fitting = fallback[fitting] }
        return bytes[fitting] == byte ? fitting + 1 : 0
    }

    /// Returns the number of matched significant bits.
    private func match(_ data: [UInt8], _ at: Int, _ bytes: [UInt8], _ mask: [UInt8]) -> Int? {
        guard at >= 0, at <= data.count - bytes.count else { return nil }
        var bits = 0
        for index in bytes.indices {
            guard data[at + index] & mask[index] == bytes[index] & mask[index] else { return nil }
            bits += mask[index].nonzeroBitCount
        }
        return bits
    }

    private func u32(_ at: Int) -> Int {
        Int(head[at]) << 24 | Int(head[at + 1]) << 16 | Int(head[at + 2]) << 8 | Int(head[at + 3])
    }

    /// - Source: ISO/IEC 14496-12, FileTypeBox: size 4 │ "ftyp" │ major 4 │ version 4 │ compatible 4 …
    private func hasBrand(_ brand: [UInt8]) -> Bool {
        guard head.count >= 16, head[4..<8].elementsEqual("ftyp".utf8) else { return false }
        if head[8..<12].elementsEqual(brand) { return true }
        let end = min(u32(0), head.count)
        return stride(from: 16, to: end - 3, by: 4).contains { head[$0..<$0 + 4].elementsEqual(brand) }
    }

    private func isRIFF(_ form: [UInt8]) -> Bool {
        head.count >= 12 && head[0..<4].elementsEqual("RIFF".utf8) && head[8..<12].elementsEqual(form)
    }

    /// length 4 │ type 4 │ data │ checksum 4
    private func hasChunk(_ wanted: [UInt8], before stop: [UInt8], from: Int) -> Bool {
        var at = from
        while at >= 0, at <= head.count - 8 {
            let type = head[at + 4..<at + 8]
            if type.elementsEqual(wanted) { return true }
            if type.elementsEqual(stop) { return false }
            at += 12 + u32(at)
        }
        return false
    }
}
