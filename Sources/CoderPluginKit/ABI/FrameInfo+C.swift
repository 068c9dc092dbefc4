internal import CCoderPlugin
internal import ImageModel

extension FrameInfo {
    /// Reads a frame that the host passes to an encoder.
    ///
    /// - Throws: `.misuse` if a value is not defined by the contract.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_frame_info>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.frameInfo)
        guard let blend = Blend(rawValue: raw.blend), let disposal = Disposal(rawValue: raw.disposal) else {
            throw CoderError(.misuse, "the host described a frame with an unknown blend or disposal")
        }
        self.init(
            index: Int(raw.index), rect: PixelRect(raw.rect),
            duration: FrameDuration(raw.duration.numerator, over: raw.duration.denominator), blend: blend,
            disposal: disposal, hasAlpha: raw.flags.has(CPI_FRAME_HAS_ALPHA),
            isIndependent: raw.flags.has(CPI_FRAME_INDEPENDENT),
            blendsInFixedPoint: raw.flags.has(CPI_FRAME_FIXED_POINT))
    }

    /// Returns the frame as a C struct.
    ///
    /// - Throws: `.pluginFault` if a decoder reports numbers that do not fit.
    func raw() throws(CoderError) -> cpi_frame_info {
        guard let index = UInt32(exactly: index) else {
            throw CoderError(.pluginFault, "the decoder reports a frame number that does not fit")
        }
        var raw = cpi_frame_info()
        raw.index = index
        raw.rect = try rect.raw()
        raw.blend = blend.rawValue
        raw.disposal = disposal.rawValue
        raw.duration = cpi_rational(numerator: duration.numerator, denominator: duration.denominator)
        raw.flags.set(CPI_FRAME_INDEPENDENT, if: isIndependent)
        raw.flags.set(CPI_FRAME_HAS_ALPHA, if: hasAlpha)
        raw.flags.set(CPI_FRAME_FIXED_POINT, if: blendsInFixedPoint)
        return raw
    }
}

extension ItemDescription {
    /// Reads the description of an item that the host passes to an encoder.
    ///
    /// - Throws: `.misuse` if a value is not defined by the contract.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_item>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.item)
        guard let role = unsafe ImageItem.Role(rawValue: raw.role) else {
            throw CoderError(.misuse, "the host described an item with an unknown role")
        }
        unsafe self.init(
            role, owner: raw.of == CPI_ITEM_NONE ? nil : Int(raw.of), group: raw.group == 0 ? nil : Int(raw.group),
            name: raw.name.map { unsafe String(cString: $0) }, kind: raw.kind.map { unsafe String(cString: $0) })
    }
}

extension PixelRect {
    init(_ raw: cpi_rect) {
        self.init(x: Int(raw.x), y: Int(raw.y), width: Int(raw.width), height: Int(raw.height))
    }

    /// Returns the rectangle as a C struct.
    ///
    /// - Throws: `.pluginFault` if a decoder reports numbers that do not fit.
    func raw() throws(CoderError) -> cpi_rect {
        guard let x = Int32(exactly: x), let y = Int32(exactly: y), let width = UInt32(exactly: width),
            let height = UInt32(exactly: height)
        else { throw CoderError(.pluginFault, "the decoder reports a rectangle whose numbers do not fit") }
        return cpi_rect(x: x, y: y, width: width, height: height)
    }
}
