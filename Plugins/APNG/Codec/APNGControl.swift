internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// The fields of an acTL chunk (PNG 3rd edition, 11.3.6.1).
struct APNGAnimationControl {
    var frameCount: UInt32
    /// 0: infinite.
    var plays: UInt32

    /// - Throws: `.corrupt`; the decoder then ignores the animation and shows the default image.
    init(_ chunk: PNGChunk, in source: ByteSource) throws(CoderError) {
        guard chunk.length == 8, chunk.isIntact(in: source) else {
            throw .corrupt("the control chunk of the animation is damaged", at: chunk.offset)
        }
        var fields = ByteReader(source, at: chunk.data.lowerBound)
        frameCount = try fields.u32BE()
        plays = try fields.u32BE()
        if frameCount == 0 { throw .corrupt("the animation has no frames", at: chunk.offset) }
    }
}

/// The fields of one fcTL chunk (PNG 3rd edition, 11.3.6.2).
///
///     sequence number, width, height, x, y (4 each) | delay: numerator, denominator (2 each) | disposal | blend
struct APNGFrameControl {
    var sequenceNumber: UInt32
    var rect: PixelRect
    var duration: FrameDuration
    var disposal: Disposal
    var blend: Blend

    /// - Throws: `.corrupt` for impossible numbers. The whole chunk must be there.
    init(_ chunk: PNGChunk, in source: ByteSource) throws(CoderError) {
        guard chunk.length == 26, chunk.isIntact(in: source) else {
            throw .corrupt("the control chunk of a frame is damaged", at: chunk.offset)
        }
        var fields = ByteReader(source, at: chunk.data.lowerBound)
        sequenceNumber = try fields.u32BE()
        let (width, height) = (Int(try fields.u32BE()), Int(try fields.u32BE()))
        rect = PixelRect(x: Int(try fields.u32BE()), y: Int(try fields.u32BE()), width: width, height: height)
        let (numerator, denominator) = (try fields.u16BE(), try fields.u16BE())
        // 0 stands for 100.
        duration = FrameDuration(UInt32(numerator), over: denominator == 0 ? 100 : UInt32(denominator))
        let (dispose, blend) = (try fields.u8(), try fields.u8())
        guard let disposal = Disposal(rawValue: UInt32(dispose)), let blend = Blend(rawValue: UInt32(blend)) else {
            throw .corrupt("a frame has an unknown disposal or blend value", at: chunk.offset)
        }
        self.disposal = disposal
        self.blend = blend
    }
}
