/// Says whether signatures hold for a file, looking at its first and last bytes only.
package struct FormatSniffer {
    /// How much a sniffer looks at.
    package static let headCount = 4096
    package static let tailCount = 64

    package let head: [UInt8]
    package let tail: [UInt8]

    package init(head: [UInt8], tail: [UInt8]) {
        self.head = head
        self.tail = tail
    }

    /// How well the best of the signatures fits: matched bits, with the rank on top; nil when none holds.
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
        }
    }

    /// Matched significant bits.
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
