internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

extension JXLStream {
    /// An extra channel of the file.
    struct Channel {
        let kind: UInt32
        let name: String
    }

    /// The facts of the image, at ``Event/facts`` or later.
    func facts() throws(CoderError) -> jxl_shim_facts {
        var facts = jxl_shim_facts()
        guard unsafe jxl_shim_get_facts(decoder, &facts) == 0 else { throw .corrupt("the header is damaged") }
        return facts
    }

    /// The extra channel number `index`; nil if it cannot be read.
    func channel(_ index: Int) -> Channel? {
        var kind: UInt32 = 0
        guard unsafe jxl_shim_channel_kind(decoder, UInt32(index), &kind) == 0 else { return nil }
        var name = [CChar](repeating: 0, count: 128)
        unsafe jxl_shim_channel_name(decoder, UInt32(index), &name, UInt64(name.count))
        return Channel(kind: kind, name: String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
    }

    /// The structured colors of the original or of the decoded pixels; nil if only a profile describes them.
    func color(ofPixels: Bool) -> jxl_shim_color? {
        var color = jxl_shim_color()
        return unsafe jxl_shim_get_color(decoder, ofPixels ? 1 : 0, &color) == 0 ? color : nil
    }

    /// Asks for pixels in these colors; false if the library cannot convert to them.
    func prefer(_ color: jxl_shim_color) -> Bool {
        var color = color
        return unsafe jxl_shim_prefer(decoder, &color) == 0
    }

    /// Copies the ICC profile of the original or of the decoded pixels; nil if there is none.
    ///
    /// - Throws: `.limitExceeded`.
    func profile(ofPixels: Bool, limit: Int) throws(CoderError) -> [UInt8]? {
        let count = unsafe jxl_shim_profile_count(decoder, ofPixels ? 1 : 0)
        guard count > 0, let count = Int(exactly: count) else { return nil }
        if limit > 0, count > limit { throw .limit("metadata", allowed: limit, requested: count) }
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe jxl_shim_get_profile(decoder, ofPixels ? 1 : 0, &bytes, UInt64(count)) == 0 else { return nil }
        return bytes
    }
}
