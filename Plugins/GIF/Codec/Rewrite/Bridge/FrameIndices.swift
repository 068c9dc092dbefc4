internal import CoderPluginKit
internal import ImageModel

extension LZWDecoder {
    /// Returns the indices of an image in stored order; nil if some are missing or a code is damaged.
    ///
    /// - Parameters:
    ///   - offset: the position of the code size.
    ///   - end: the end of the last data block.
    func indices(
        of source: ByteSource, codeSizeAt offset: Int, upTo end: Int, count: Int, host: HostServices
    ) throws(CoderError) -> [UInt8]? {
        if count == 0 { return nil }
        do throws(CoderError) {
            try begin(minimumCodeSize: source[offset], offset: offset + 1, pixelCount: count, host: host)
        } catch {
            if error.code == .corrupt { return nil }
            throw error
        }
        var found: [UInt8] = []
        found.reserveCapacity(count)
        while found.count < count {
            try host.checkCancellation()
            let outcome = fill(from: source, upTo: end, wanted: count - found.count)
            unsafe found.append(contentsOf: indices.prefix(count - found.count))
            if outcome != .more { break }
        }
        return found.count == count ? found : nil
    }
}
