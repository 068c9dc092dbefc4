package import ImageModel
package import ImageProcessing

extension DecodedImage {
    /// Reduces the image so that it fits into a box when upright.
    package mutating func fit(into box: PixelSize, _ how: Resampling = Resampling()) throws(CoderError) {
        var options = DecodeOptions.thumbnail(box)
        options.resampling = how
        info.size = pixels.size
        info.isScalable = false
        let shape = try ImageShape(info, options, format: pixels.format)
        var notes = ShapeNotes()
        pixels = try shape.apply(to: pixels, &notes)
        shape.describe(&info, &metadata, pixels.size, pixels.format)
    }

    /// Removes a thumbnail from the metadata that no longer shows the image.
    package mutating func dropEmbeddedThumbnail() {
        metadata = metadata.withoutThumbnails
        info.hasItems = false
    }
}

extension MetadataBlob {
    /// The same metadata with the orientation of upright pixels.
    var upright: MetadataBlob {
        var blob = self
        switch kind {
        case .exif: blob.bytes = ExifOrientation.replacing(bytes, with: .up)
        case .xmp: blob.bytes = XMPOrientation.replacing(bytes, with: .up)
        default: break
        }
        return blob
    }
}

extension [MetadataBlob] {
    /// The metadata without Exif thumbnails.
    package var withoutThumbnails: [MetadataBlob] {
        map { blob in
            blob.kind == .exif ? MetadataBlob(.exif, ExifThumbnail.removing(blob.bytes), key: blob.key) : blob
        }
    }
}
