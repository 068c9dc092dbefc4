public import ImageModel
public import ImageProcessing

/// The size of a decoded image.
public enum DecodedSize: Sendable, Hashable {
    /// The size of the file.
    case full
    /// Fitted into a box. A side of 0 follows from the other side; a box without sides changes nothing.
    ///
    /// `enlarging` decides about images smaller than the box. Without a value, the fit decides: `.cover`, `.contain` and
    /// `.fill` enlarge, so that the result has the size of the box; `.inside` and `.outside` keep small images.
    case box(PixelSize, Fit = .inside, enlarging: Bool? = nil)
    /// Scaled by a factor above 0, such as 0.5; a side has at least one pixel.
    case scaled(by: Double)
    /// Limited to a number of bytes for the pixels of all frames; keeps the aspect ratio.
    ///
    /// A pixel counts four bytes, or more if its format needs more.
    case limited(toBytes: Int)
}

extension DecodedSize {
    /// Whether the frames of an animation share a limit, so that their number decides the size.
    package var dependsOnFrameCount: Bool { if case .limited = self { true } else { false } }

    /// Returns the sizes to which an image is scaled, and then cropped or padded.
    ///
    /// - Parameters:
    ///   - size: the size of the upright image, or of its part.
    ///   - frameCount: the number of frames that share a byte limit.
    ///   - isScalable: whether the image is vector graphics, which can be enlarged without loss.
    package func layout(
        of size: PixelSize, _ format: PixelFormat, frameCount: Int = 1, isScalable: Bool = false
    ) -> Fit.Layout {
        switch self {
        case .full: Fit.Layout(scaled: size, result: size)
        case .box(let box, let fit, let enlarging):
            fit.layout(size, in: box, mayEnlarge: enlarging ?? fit.enlarges || isScalable)
        case .scaled(let factor): Fit.Layout(evenly: Self.scaled(size, by: factor))
        case .limited(let limit):
            Fit.Layout(evenly: Self.limited(size, toBytes: limit, max(4, format.bytesPerPixel), frameCount))
        }
    }

    private static func scaled(_ size: PixelSize, by factor: Double) -> PixelSize {
        func scaled(_ side: Int) -> Int {
            // Limits refuse such a size; here it must not overflow.
            Int(min(max(1, (Double(side) * factor).rounded()), Double(Int32.max)))
        }
        return factor.isFinite && factor > 0 && !size.isEmpty
            ? PixelSize(scaled(size.width), scaled(size.height)) : size
    }

    private static func limited(
        _ size: PixelSize, toBytes limit: Int, _ bytesPerPixel: Int, _ frameCount: Int
    ) -> PixelSize {
        let most = max(1, limit / bytesPerPixel / max(1, frameCount))
        if (size.area ?? .max) <= most { return size }
        return size.limited(toBytes: limit, bytesPerPixel: bytesPerPixel, frameCount: frameCount).within(most, size)
    }
}

extension Fit.Layout {
    fileprivate init(evenly size: PixelSize) { self.init(scaled: size, result: size) }
}

extension PixelSize {
    /// Reduces a size to at most `most` pixels; a side of one pixel is not reduced.
    fileprivate func within(_ most: Int, _ whole: PixelSize) -> PixelSize {
        var result = PixelSize(min(width, whole.width), min(height, whole.height))
        if (result.area ?? .max) > most {
            if result.width >= result.height {
                result.width = max(1, most / result.height)
            } else {
                result.height = max(1, most / result.width)
            }
        }
        return result
    }
}
