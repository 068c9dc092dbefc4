import CoderHost
import ImageModel
import ImageProcessing

/// The summary of an image in the output of `info`.
enum SummaryRendering {
    /// The fields of a summary, in order.
    static let keys = ["blur_hash", "dominant_color", "average_color", "palette", "has_transparent_pixels"]

    static func json(_ summary: ImageSummary) -> [(key: String, value: JSONValue)] {
        let palette = summary.palette.map { swatch in
            JSONValue.object([
                ("color", .string(text(swatch.color))), ("share", .real((swatch.share * 10_000).rounded() / 10_000)),
            ])
        }
        return [
            ("blur_hash", .string(summary.blurHash)), ("dominant_color", .string(text(summary.dominantColor))),
            ("average_color", .string(text(summary.averageColor))), ("palette", .array(palette)),
            ("has_transparent_pixels", .bool(summary.hasTransparentPixels)),
        ]
    }

    /// Returns the lines of a summary; none if the report has no summary.
    static func text(_ members: [(key: String, value: JSONValue)]) -> [String] {
        func value(_ key: String) -> JSONValue { members.first { $0.key == key }?.value ?? .null }
        func plain(_ value: JSONValue?) -> String { value?.string ?? "" }
        if value("blur_hash") == .null { return [] }
        let palette = (value("palette").array ?? []).map { swatch in
            let percent = Int(((swatch["share"]?.real ?? 0) * 100).rounded())
            return "\(plain(swatch["color"])) \(percent)%"
        }
        let transparent = value("has_transparent_pixels").bool == true ? "yes" : "no"
        return [
            "  blur hash \(plain(value("blur_hash")))",
            "  dominant \(plain(value("dominant_color"))), average \(plain(value("average_color"))), "
                + "transparent pixels: \(transparent)",
            "  palette \(palette.joined(separator: ", "))",
        ]
    }

    /// Returns `#rrggbb`, or `#rrggbbaa` for a color that is not opaque.
    private static func text(_ color: RGBAColor) -> String {
        let bytes = [color.red, color.green, color.blue] + (color.alpha == 255 ? [] : [color.alpha])
        return "#" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
