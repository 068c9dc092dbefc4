import CoderHost
import ImageModel
import ImageProcessing

extension FuzzTarget {
    /// Readers of image metadata.
    static let metadataReaders = [exif, xmp, icc]

    static let exif = FuzzTarget("exif", seeds: exifs, mutator: TIFFMutator()) { bytes throws(Finding) in
        let before = ExifOrientation.read(bytes)
        for orientation in Orientation.allCases {
            let changed = ExifOrientation.replacing(bytes, with: orientation)
            guard changed.count == bytes.count || before == nil else { throw Finding("Exif changes its length") }
            if before != nil, ExifOrientation.read(changed) != orientation {
                throw Finding("another orientation than \(orientation) is read again")
            }
        }
        if let small = ExifThumbnail(bytes) {
            guard small.bytes.lowerBound >= 0, small.bytes.upperBound <= bytes.count else {
                throw Finding("a thumbnail at \(small.bytes) of \(bytes.count)")
            }
        }
        let removed = ExifThumbnail.removing(bytes)
        if removed.count > bytes.count { throw Finding("removing a thumbnail makes Exif longer") }
        if ExifThumbnail(removed) != nil, removed != bytes { throw Finding("the thumbnail is still there") }
    }

    static let xmp = FuzzTarget("xmp", seeds: xmps, mutator: nil) { bytes throws(Finding) in
        if XMPPosition.removing(bytes).count > bytes.count { throw Finding("removing the place makes XMP longer") }
        let alone = XMPFurtherImages.removing(bytes)
        if alone.count > bytes.count { throw Finding("removing further images makes XMP longer") }
        if XMPFurtherImages.removing(alone) != alone { throw Finding("further images are still there") }
        let before = XMPOrientation.read(bytes)
        for orientation in Orientation.allCases {
            let changed = XMPOrientation.replacing(bytes, with: orientation)
            if before != nil, XMPOrientation.read(changed) != orientation {
                throw Finding("another orientation than \(orientation) is read again")
            }
        }
    }

    static let icc = FuzzTarget("icc", cost: 6, seeds: profiles, mutator: ICCMutator()) { bytes throws(Finding) in
        for (format, target) in [(PixelFormat.rgba8, PixelFormat.rgba8), (.gray8, .rgb8), (.rgb16, .rgb8)] {
            let profile = ColorProfile.icc(bytes)
            _ = profile.isHighDynamicRange
            guard let buffer = try? PixelBuffer(size: PixelSize(5, 3), format: format) else { continue }
            var image = DecodedImage(
                info: ImageInfo(size: buffer.size, nativeFormat: format), pixels: buffer,
                metadata: [MetadataBlob(.icc, bytes)], format: "png", coder: "none")
            do throws(CoderError) {
                try image.convertColors(to: .sRGB, bits: target.bits)
            } catch {
                if ![.corrupt, .unsupportedFeature].contains(error.code) { throw Finding("\(error.code): \(error)") }
            }
        }
    }

    // MARK: Seeds

    /// The metadata of every fixture.
    private static func blobs(_ kind: MetadataBlob.Kind) -> [[UInt8]] {
        let files = Seeds.files("Fixtures").filter {
            ["jpg", "png", "webp", "heic", "avif"].contains($0.split(separator: ".").last.map(String.init))
        }
        var result: [[UInt8]] = []
        for file in files where !file.hasPrefix("Fixtures/found") {
            let blobs = try? FuzzHost.manager.withSession(ImageSource(Seeds.bytes(file))) {
                session throws(CoderError) in
                try session.metadata()
            }
            for blob in blobs ?? []
            where blob.kind == kind && blob.bytes.count < 16 << 10 && !result.contains(blob.bytes) {
                result.append(blob.bytes)
            }
        }
        return result
    }

    @Sendable static func exifs() -> [[UInt8]] {
        blobs(.exif) + [TIFFMutator.thumbnail(isBig: true), TIFFMutator.thumbnail(isBig: false)] + Seeds.found("exif")
    }
    @Sendable static func xmps() -> [[UInt8]] {
        blobs(.xmp)
            + [
                #"<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>"#,
                "<tiff:Orientation>3</tiff:Orientation>",
            ]
            .map { Array($0.utf8) } + Seeds.found("xmp")
    }
    @Sendable static func profiles() -> [[UInt8]] {
        Seeds.files("Fixtures/color").map(Seeds.bytes).filter { $0.count < 16 << 10 } + blobs(.icc) + Seeds.found("icc")
    }
}
