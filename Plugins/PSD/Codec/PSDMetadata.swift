import CoderPluginKit
import ImageModel

/// Reads the metadata of the image resources: ICC, Exif, XMP and IPTC as stored.
struct PSDMetadata {
    private let session: DecoderSession
    private let resources: PSDResources

    init(_ session: DecoderSession, _ resources: PSDResources) {
        (self.session, self.resources) = (session, resources)
    }

    /// Whether the file has a profile for such pixels.
    func hasProfile(for format: PixelFormat) -> Bool {
        guard let place = resources[.icc] else { return false }
        return fits(place) && describes(place, format)
    }

    /// - Parameter format: the format of the pixels, which the profile must describe.
    func blobs(for format: PixelFormat) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        func add(_ resource: PSDResources.Kind, _ kind: MetadataBlob.Kind, _ name: String) {
            guard let place = resources[resource] else { return }
            guard fits(place) else {
                session.host.warn("the \(name) of \(place.count) bytes is above the limit and is ignored")
                return
            }
            if kind == .icc, !describes(place, format) {
                session.host.warn("the color profile is for other channels than the pixels and is ignored")
                return
            }
            blobs.append(MetadataBlob(kind, session.source.bytes(place)))
        }
        add(.exif, .exif, "Exif")
        add(.xmp, .xmp, "XMP")
        add(.icc, .icc, "color profile")
        add(.iptc, .iptc, "IPTC")
        return blobs
    }

    private func fits(_ place: Range<Int>) -> Bool {
        let limit = session.limits.maxMetadataBytes
        return limit == 0 || place.count <= limit
    }

    /// Whether a profile has the color space of the pixels: Lab becomes RGB, and one ink of several becomes gray.
    private func describes(_ place: Range<Int>, _ format: PixelFormat) -> Bool {
        guard place.count >= 128 else { return false }
        let space = String(decoding: session.source.bytes(place.lowerBound + 16..<place.lowerBound + 20), as: UTF8.self)
        switch format.channels {
        case .gray, .grayAlpha: return space == "GRAY"
        case .cmyk: return space == "CMYK"
        default: return space == "RGB "
        }
    }
}
