import HostSystem
package import ImageModel

extension PixelBuffer {
    /// Returns the color of one pixel, with straight alpha; nil outside the image and for samples that are not 8-bit.
    package func color(at point: (x: Int, y: Int)) -> RGBAColor? {
        colors(in: PixelRect(x: point.x, y: point.y, width: 1, height: 1))?.first
    }

    /// Returns the colors of a rectangle row by row, with straight alpha; nil if the rectangle is empty or not inside
    /// the image, and for samples that are not 8-bit.
    package func colors(in rect: PixelRect) -> [RGBAColor]? {
        guard format.bits == 8, rect.width > 0, rect.height > 0, rect.x >= 0, rect.y >= 0,
            rect.x <= size.width - rect.width, rect.y <= size.height - rect.height,
            let part = try? PixelConverter.convert(Cropping(rect).transform(self), to: .rgba8)
        else { return nil }
        var colors: [RGBAColor] = []
        for y in 0..<rect.height {
            part.withRow(y) { row in
                for x in 0..<rect.width {
                    colors.append(
                        RGBAColor(
                            red: row.byte(at: x * 4), green: row.byte(at: x * 4 + 1), blue: row.byte(at: x * 4 + 2),
                            alpha: row.byte(at: x * 4 + 3)))
                }
            }
        }
        return colors
    }
}
