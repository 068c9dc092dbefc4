import CCoderPlugin
import CIsolationWire
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
    /// - Parameter formats: Receives the formats of the offers, in their order.
    func offers(_ formats: inout [cpi_format_offer], _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func scaledSize(_ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func nextFrame(_ frame: inout cpi_frame_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status
    func seek(_ index: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    /// - Parameter dirty: what the call changed, after `CPI_PARTIAL`; left alone where the plugin does not say.
    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func item(_ index: UInt32, _ item: inout PortItem, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func select(_ index: UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func itemCount(_ count: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
}

/// An item as a plugin describes it; strings are cut at ``PortItem/maxTextBytes``.
struct PortItem {
    static let maxTextBytes = Int(ISO_TEXT_LIMIT) - 1

    var flags: UInt32 = 0
    var role: UInt32 = 0
    var owner = CPI_ITEM_NONE
    var group: UInt32 = 0
    var reserved: UInt32 = 0
    var name: String?
    var kind: String?
    var info = cpi_image_info()

    init() { info.size = UInt32(MemoryLayout<cpi_image_info>.size) }
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
    /// - Parameter formats: Receives the formats that the plugin accepts, the best first.
    func accept(
        _ info: inout cpi_image_info, _ formats: inout [cpi_format_offer], _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func begin(_ info: inout cpi_image_info, _ sink: PluginSink, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status
    func add(_ blob: MetadataBlob, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func addThumbnail(_ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func add(_ frame: inout cpi_frame_info, _ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status
    func beginRows(_ frame: inout cpi_frame_info, _ rows: inout UInt32, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func addRows(_ place: CanvasPlace, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func finish(_ error: inout cpi_error) throws(CoderError) -> cpi_status
}

/// The calls of a plugin that turn a file into another one, wherever they run.
protocol RewritePort: AnyObject {
    func rewrite(
        _ request: RewriteRequest, _ sink: PluginSink, _ outcome: inout cpi_rewrite_outcome, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status?
    func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ sink: PluginSink, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status?
}

/// Collects what a plugin offers one by one, as the worker does for its plugin.
///
/// - Returns: `CPI_OK` where the plugin came to an end or to the limit; its answer otherwise.
func collectFormats(
    _ formats: inout [cpi_format_offer], _ ask: (UInt32, inout cpi_format_offer) -> cpi_status
) -> cpi_status {
    while formats.count < Int(ISO_FORMAT_LIMIT) {
        var offer = cpi_format_offer()
        offer.size = UInt32(MemoryLayout<cpi_format_offer>.size)
        let status = ask(UInt32(formats.count), &offer)
        guard status == CPI_OK else { return status == CPI_END ? CPI_OK : status }
        formats.append(offer)
    }
    return CPI_OK
}

extension PixelFormat {
    /// Those that this host knows, each once.
    static func distinct(_ raw: [cpi_pixel_format]) -> [PixelFormat] {
        raw.compactMap { PixelFormat($0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension iso_formats {
    /// The offers that a worker reports; never more than there is room for.
    var list: [cpi_format_offer] {
        unsafe withUnsafeBytes(of: items) { items in
            (0..<min(Int(count), Int(ISO_FORMAT_LIMIT))).map { index in
                unsafe items.loadUnaligned(
                    fromByteOffset: index * MemoryLayout<cpi_format_offer>.stride, as: cpi_format_offer.self)
            }
        }
    }
}
