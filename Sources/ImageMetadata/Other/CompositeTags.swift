/// Tags that combine others: the position with its sign and direction.
enum CompositeTags {
    static func of(_ tags: [MetadataTag]) -> [MetadataTag] {
        func tag(_ name: String) -> MetadataTag? { tags.first { $0.group == "GPS" && $0.name == name } }
        var result: [MetadataTag] = []
        func angle(_ name: String, _ negative: String) -> (value: Double, text: String)? {
            guard let number = tag(name)?.value.number, let side = tag(name + "Ref")?.value.plain, !side.isEmpty
            else { return nil }
            return (side.uppercased() == negative ? -number : number, "\(ExifTag.degrees(number)) \(side.uppercased())")
        }
        if let altitude = tag("GPSAltitude")?.value.number, altitude.isFinite, let side = tag("GPSAltitudeRef")?.value {
            let isBelow = side == .integer(1)
            // Tenths of a meter, not rounded.
            let tenths = abs(altitude) < 1e12 ? (altitude * 10).rounded(.towardZero) / 10 : altitude
            result.append(
                MetadataTag(
                    "Composite", "GPSAltitude", .real(isBelow ? -altitude : altitude),
                    text: "\(Numbers.text(tenths)) m \(isBelow ? "Below" : "Above") Sea Level"))
        }
        let latitude = angle("GPSLatitude", "S")
        let longitude = angle("GPSLongitude", "W")
        if let latitude {
            result.append(MetadataTag("Composite", "GPSLatitude", .real(latitude.value), text: latitude.text))
        }
        if let longitude {
            result.append(MetadataTag("Composite", "GPSLongitude", .real(longitude.value), text: longitude.text))
        }
        if let latitude, let longitude {
            result.append(
                MetadataTag(
                    "Composite", "GPSPosition",
                    .text("\(Numbers.text(latitude.value, digits: 15)) \(Numbers.text(longitude.value, digits: 15))"),
                    text: "\(latitude.text), \(longitude.text)"))
        }
        return result
    }
}
