import ImageModel

extension PixelFormat {
    /// The format with an alpha channel that permits transparency; CMYK becomes RGB.
    var withAlpha: PixelFormat {
        if hasTransparency { return self }
        let channels: Channels =
            switch self.channels {
            case .gray, .grayAlpha: .grayAlpha
            case .rgb, .cmyk, .rgba: .rgba
            case .bgra: .bgra
            }
        return PixelFormat(channels, bits: bits, numeric: numeric, alpha: .straight)
    }

    /// The format with color instead of gray; CMYK becomes RGB.
    var withColors: PixelFormat {
        switch channels {
        case .gray, .cmyk: PixelFormat(.rgb, bits: bits, numeric: numeric)
        case .grayAlpha: PixelFormat(.rgba, bits: bits, numeric: numeric, alpha: alpha)
        default: self
        }
    }
}

extension RGBAColor {
    var isGray: Bool { red == green && green == blue }
}

extension PixelBuffer {
    /// Returns the image prepared for color operations: CMYK becomes RGB.
    ///
    /// - Throws: `.unsupportedFeature` for float samples.
    func workable(_ what: String) throws(CoderError) -> PixelBuffer {
        try format.checkWorkable(what)
        return format.channels == .cmyk ? try PixelConverter.convert(self, to: format.withColors) : self
    }

    /// Returns an image whose rows are made from this image's rows by `body`.
    func mapRows(to format: PixelFormat, _ body: (inout [UInt16]) -> Void) throws(CoderError) -> PixelBuffer {
        let result = try PixelBufferPool.shared.take(size, format, clean: false)
        var work = [UInt16](repeating: 0, count: size.width * 4)
        for y in 0..<size.height {
            loadWork(y, into: &work)
            body(&work)
            result.storeWork(y, from: work)
        }
        return result
    }

    /// Returns the image on a transparent canvas, cropped to it; the same buffer if the canvas equals the image.
    func placed(x: Int, y: Int, on canvas: PixelSize) throws(CoderError) -> PixelBuffer {
        if x == 0 && y == 0 && size == canvas { return self }
        let visible = PixelRect(canvas).intersection(PixelRect(x: x, y: y, width: size.width, height: size.height))
        let coversAll = visible == PixelRect(canvas)
        let image =
            coversAll || format.hasTransparency ? self : try PixelConverter.convert(self, to: format.withAlpha)
        let result = try PixelBufferPool.shared.take(canvas, image.format, clean: !coversAll)
        if !visible.isEmpty {
            let part = PixelRect(x: visible.x - x, y: visible.y - y, width: visible.width, height: visible.height)
            copyPixels(part, of: image, into: result, x: visible.x, y: visible.y)
        }
        return result
    }
}
