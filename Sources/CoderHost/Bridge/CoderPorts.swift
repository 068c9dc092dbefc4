import CCoderPlugin
import ImageModel
import ImageProcessing

/// A decoding session of a plugin, wherever it runs: in this process or in a worker.
///
/// What comes back is as the plugin said it; ``ImportedDecoder`` judges it. Nil stands for what the plugin has not got.
/// - Throws: what has to do with the place it runs in, never what the plugin answered.
protocol DecoderPort: AnyObject {
    /// Where pictures that this session fills come from.
    var pool: PixelBufferPool { get }

    func readHeader(_ info: inout cpi_image_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status
    /// - Parameter most: the bytes that the caller takes; `bytes` of a longer blob is empty.
    func blob(_ index: UInt32, most: Int, _ error: inout cpi_error) throws(CoderError) -> (cpi_status, PortBlob)?
    func offer(_ index: UInt32, _ offer: inout cpi_format_offer, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func reducedSize(_ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func nextFrame(_ frame: inout cpi_frame_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status
    func seek(_ index: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    /// - Parameter dirty: what the call changed, after `CPI_PARTIAL`; left alone where the plugin does not say.
    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func thumbnail(_ index: UInt32, _ info: inout cpi_image_info, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func decodeThumbnail(_ index: UInt32, _ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
}

/// Metadata as a plugin hands it out.
struct PortBlob {
    var kind: UInt32 = 0
    /// Nil where the plugin gives no key, or one above ``MetadataBudget/maxKeyBytes``.
    var key: String?
    /// Bytes of the key in the plugin; ``MetadataBudget/maxKeyBytes`` + 1 for every longer key.
    var keyLength = 0
    var length = 0
    /// Empty where the blob or its key is longer than the caller takes.
    var bytes: [UInt8] = []
}

/// An encoding session of a plugin, wherever it runs.
protocol EncoderPort: AnyObject {
    func accept(
        _ index: UInt32, _ info: inout cpi_image_info, _ offer: inout cpi_format_offer, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func begin(_ info: inout cpi_image_info, _ sink: PluginSink, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status
    func add(_ blob: MetadataBlob, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func addThumbnail(_ pixels: PixelBuffer, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func add(_ frame: inout cpi_frame_info, _ pixels: PixelBuffer, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status
    func finish(_ error: inout cpi_error) throws(CoderError) -> cpi_status
}
