import ImageModel
import ImageProcessing

@testable import CoderHost

/// All results of a decoding session: values, warnings and errors.
struct SessionAccount: Equatable {
    var info: ImageInfo?
    var formats: [PixelFormat] = []
    var metadata: [MetadataBlob] = []
    var scaledSizes: [PixelSize] = []
    var frames: [FrameInfo] = []
    var digests: [String] = []
    var thumbnails: [ImageInfo] = []
    var warnings: [String] = []
    /// The error that ended the frame list, then the one that ended the session.
    var problems: [CoderError] = []

    init(_ source: ImageSource, _ host: CoderHost, limits: DecodeLimits? = nil, backwards: Bool = false) {
        var context: SessionContext?
        do throws(CoderError) {
            try host.manager.withSession(source, limits: limits) { session throws(CoderError) in
                context = session.context
                info = session.info
                formats = try session.pixelFormats()
                metadata = try session.metadata()
                thumbnails = try session.thumbnails()
                for side in [1, 7, 20] {
                    scaledSizes.append(try session.sequence.decoder().scaledSize(atLeast: PixelSize(side, side)))
                }
                if case .failure(let error) = session.findFrames() { problems.append(error) }
                frames = session.knownFrames
                let order = backwards ? Array((0..<frames.count).reversed()) : Array(0..<frames.count)
                for index in order { digests.append(try Self.digest(session.decodeFrame(index).pixels)) }
                for index in thumbnails.indices {
                    digests.append(try Self.digest(session.decodeThumbnail(index)))
                }
            }
        } catch {
            problems.append(error)
        }
        warnings = context?.warnings ?? []
    }

    /// Hashes the bytes of all rows, in any format.
    static func digest(_ pixels: PixelBuffer) -> String {
        var bytes: [UInt8] = []
        for y in 0..<pixels.size.height { pixels.withRow(y) { row in bytes += copyBytes(row) } }
        return "\(pixels.format) \(SHA256.hexDigest(of: bytes))"
    }
}
