import CoderPluginKit
import ImageModel
import JPEGCodec
import PNGCodec

/// Images of other formats within a bitmap.
enum EmbeddedImage {
    /// Returns a decoder of the embedded file.
    static func decoder(_ session: DecoderSession, isPNG: Bool) throws(CoderError) -> any ImageDecoder {
        if isPNG { return try PNGDecoder(session) }
        return try JPEGDecoder(session)
    }
}
