import CCoderPlugin
import CIsolationWire
import ImageModel
import ImageProcessing

/// A decoding session of a plugin, in this process or in a worker.
///
/// A port returns the plugin's unchecked results; ``ImportedDecoder`` validates them. Nil means that the plugin does
/// not implement the function.
/// - Throws: errors of the transport or worker, never the plugin's own status.
protocol DecoderPort: AnyObject {
    /// The source of pixel buffers that this session fills.
    var pool: PixelBufferPool { get }

    func readHeader(_ info: inout cpi_image_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status
    /// - Parameter most: the maximum size; `bytes` of a longer blob is empty.
    func blob(_ index: UInt32, most: Int, _ error: inout cpi_error) throws(CoderError) -> (cpi_status, PortBlob)?
    /// - Parameter formats: receives the offered formats in order.
    func offers(_ formats: inout [cpi_format_offer], _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func scaledSize(_ width: inout UInt32, _ height: inout UInt32, _ error: inout cpi_error) throws(CoderError)
        -> cpi_status?
    func nextFrame(_ frame: inout cpi_frame_info, _ error: inout cpi_error) throws(CoderError) -> cpi_status
    func seek(_ index: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    /// - Parameter dirty: the changed area after `CPI_PARTIAL`; unchanged if the plugin does not report it.
    func decode(
        _ request: FrameRequest, _ place: CanvasPlace, _ dirty: inout cpi_rect, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func item(_ index: UInt32, _ item: inout PortItem, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func select(_ index: UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
    func itemCount(_ count: inout UInt32, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
}

/// An item as described by a plugin; strings are truncated to ``PortItem/maxTextBytes``.
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

/// Metadata returned by a plugin.
struct PortBlob {
    var kind: UInt32 = 0
    /// The key; nil if there is none, or if it is longer than ``MetadataBudget/maxKeyBytes``.
    var key: String?
    /// The length of the key in bytes; ``MetadataBudget/maxKeyBytes`` + 1 for any longer key.
    var keyLength = 0
    var length = 0
    /// The content; empty if the blob or its key is too long.
    var bytes: [UInt8] = []
}

/// An encoding session of a plugin, in this process or in a worker.
protocol EncoderPort: AnyObject {
    /// - Parameter formats: receives the formats that the plugin accepts, best first.
    func accept(
        _ info: inout cpi_image_info, _ formats: inout [cpi_format_offer], _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status
    func nextItem(_ item: ItemDescription, _ error: inout cpi_error) throws(CoderError) -> cpi_status?
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

/// The rewriting functions of a plugin, in this process or in a worker.
protocol RewritePort: AnyObject {
    func rewrite(
        _ request: RewriteRequest, _ sink: PluginSink, _ outcome: inout cpi_rewrite_outcome, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status?
    func transcode(
        _ direction: TranscodeDirection, _ format: ImageFormat, _ sink: PluginSink, _ error: inout cpi_error
    ) throws(CoderError) -> cpi_status?
}

/// Collects the formats that a plugin offers one by one, as a worker does for its plugin.
///
/// - Returns: `CPI_OK` after the last format or at the limit; otherwise the plugin's status.
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
    /// Returns the formats that this host supports, without duplicates.
    static func distinct(_ raw: [cpi_pixel_format]) -> [PixelFormat] {
        raw.compactMap { PixelFormat($0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension iso_formats {
    /// The offers in a worker's report, at most as many as fit.
    var list: [cpi_format_offer] {
        unsafe withUnsafeBytes(of: items) { items in
            (0..<min(Int(count), Int(ISO_FORMAT_LIMIT))).map { index in
                unsafe items.loadUnaligned(
                    fromByteOffset: index * MemoryLayout<cpi_format_offer>.stride, as: cpi_format_offer.self)
            }
        }
    }
}
