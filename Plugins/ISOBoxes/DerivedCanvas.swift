package import ImageModel

/// The canvas size in the data of a derived image.
///
/// - Source: ISO/IEC 23008-12 sections 6.6.2.2 (overlay) and 6.6.2.3 (grid).
package enum DerivedCanvas {
    package static func grid(_ rule: [UInt8]) throws(CoderError) -> PixelSize { try canvas(rule, sizesAt: 4) }
    package static func overlay(_ rule: [UInt8]) throws(CoderError) -> PixelSize { try canvas(rule, sizesAt: 10) }

    private static func canvas(_ rule: [UInt8], sizesAt start: Int) throws(CoderError) -> PixelSize {
        guard rule.count > 1 else { throw .corrupt("a derived image has no data") }
        var fields = BoxCursor(rule)
        try fields.skip(start)
        let width = rule[1] & 1 == 0 ? 2 : 4
        return PixelSize(Int(try fields.uint(width)), Int(try fields.uint(width)))
    }
}
