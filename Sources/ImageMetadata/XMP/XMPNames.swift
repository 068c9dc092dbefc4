/// The groups, names and values of XMP properties.
enum XMPNames {
    private static let groups = [
        "http://purl.org/dc/elements/1.1/": "dc", "http://ns.adobe.com/xap/1.0/": "xmp",
        "http://ns.adobe.com/xap/1.0/rights/": "xmpRights", "http://ns.adobe.com/xap/1.0/mm/": "xmpMM",
        "http://ns.adobe.com/xap/1.0/bj/": "xmpBJ", "http://ns.adobe.com/xap/1.0/t/pg/": "xmpTPg",
        "http://ns.adobe.com/photoshop/1.0/": "photoshop", "http://ns.adobe.com/exif/1.0/": "exif",
        "http://ns.adobe.com/tiff/1.0/": "tiff", "http://ns.adobe.com/exif/1.0/aux/": "aux",
        "http://ns.adobe.com/camera-raw-settings/1.0/": "crs", "http://ns.adobe.com/lightroom/1.0/": "lr",
        "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/": "iptcCore",
        "http://iptc.org/std/Iptc4xmpExt/2008-02-29/": "iptcExt",
        "http://cipa.jp/exif/1.0/": "exifEX", "http://ns.google.com/photos/1.0/panorama/": "GPano",
        "http://ns.microsoft.com/photo/1.0/": "microsoft", "http://ns.microsoft.com/photo/1.0": "microsoft",
        "http://ns.adobe.com/hdr-gain-map/1.0/": "hdrgm", "http://ns.useplus.org/ldf/xmp/1.0/": "plus",
        "http://creativecommons.org/ns#": "cc",
    ]

    private static let names = [
        "ISOSpeedRatings": "ISO", "PixelXDimension": "ExifImageWidth", "PixelYDimension": "ExifImageHeight",
        "ExposureBiasValue": "ExposureCompensation", "FocalLengthIn35mmFilm": "FocalLengthIn35mmFormat",
        "ImageLength": "ImageHeight", "LensSpecification": "LensInfo", "BodySerialNumber": "SerialNumber",
        "CameraOwnerName": "OwnerName",
    ]

    /// The parts of the creator's address, which exiftool names without their structure.
    private static let address = [
        "CiAdrCity": "CreatorCity", "CiAdrCtry": "CreatorCountry", "CiAdrExtadr": "CreatorAddress",
        "CiAdrPcode": "CreatorPostalCode", "CiAdrRegion": "CreatorRegion", "CiEmailWork": "CreatorWorkEmail",
        "CiTelWork": "CreatorWorkTelephone", "CiUrlWork": "CreatorWorkURL",
    ]

    /// The words of numbers.
    private static let words: [String: [String: String]] = [
        "FlashMode": ["0": "Unknown", "1": "On", "2": "Off", "3": "Auto"],
        "FlashReturn": ["0": "No return detection", "2": "Return not detected", "3": "Return detected"],
        "ColorMode": [
            "0": "Bitmap", "1": "Grayscale", "2": "Indexed", "3": "RGB", "4": "CMYK", "7": "Multichannel",
            "8": "Duotone", "9": "Lab",
        ],
    ]

    static func group(_ name: XMLName) -> String {
        "XMP-" + (groups[name.uri] ?? (name.prefix.isEmpty ? "other" : name.prefix))
    }

    /// Returns the tag of a property.
    static func tag(_ group: String, _ name: String, _ text: String) -> MetadataTag {
        if let word = words[name]?[text], group == "XMP-exif" || group == "XMP-photoshop" {
            return MetadataTag(group, name, Int(text).map { MetadataTag.Value.integer($0) } ?? .text(text), text: word)
        }
        if group == "XMP-iptcCore", name.hasPrefix("CreatorContactInfo"),
            let own = address[String(name.dropFirst("CreatorContactInfo".count))]
        {
            return MetadataTag(group, own, .text(text))
        }
        guard ["XMP-exif", "XMP-tiff", "XMP-aux", "XMP-exifEX"].contains(group) else {
            return MetadataTag(group, name, .text(date(text) ?? text))
        }
        let own = names[name] ?? name
        if own.hasPrefix("GPS"), let angle = angle(text) {
            return MetadataTag(group, own, .real(angle.value), text: angle.text)
        }
        if own == "LensInfo" {
            // A denominator of 0 stands for an unknown value.
            let parts = text.split(separator: " ").map { Self.number(String($0)) ?? Double.nan }
            return MetadataTag(group, own, .text(text), text: parts.count == 4 ? ExifTag.lens(parts) : text)
        }
        guard let number = number(text) else { return MetadataTag(group, own, .text(date(text) ?? text)) }
        if let known = ExifTable.named(own) { return known.tag(group, number) }
        let value: MetadataTag.Value =
            number == number.rounded() && abs(number) < 1e15 ? .integer(Int(number)) : .real(number)
        return MetadataTag(group, own, value)
    }

    /// Returns the number of `28/10` or `2.8`.
    private static func number(_ text: String) -> Double? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard text.utf8.count <= 40, let first = parts.first.flatMap({ Double($0) }) else { return nil }
        if parts.count == 1 { return first.isFinite ? first : nil }
        guard parts.count == 2, let second = Double(parts[1]), second != 0 else { return nil }
        return first / second
    }

    /// Returns the angle of `54,59.38N` or `54,59,22N`.
    private static func angle(_ text: String) -> (value: Double, text: String)? {
        guard let side = text.last, "NSEW".contains(side) else { return nil }
        let parts = text.dropLast().split(separator: ",").map { Double($0) }
        guard (2...3).contains(parts.count), parts.allSatisfy({ $0.map { $0 >= 0 && $0 < 1000 } ?? false }) else {
            return nil
        }
        let value = zip(parts, [1.0, 60, 3600]).reduce(0) { $0 + ($1.0 ?? 0) / $1.1 }
        return ("SW".contains(side) ? -value : value, "\(ExifTag.degrees(value)) \(side)")
    }

    /// Returns `2008-10-30T14:30:59+01:00` as `2008:10:30 14:30:59+01:00`; nil for other texts.
    private static func date(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard (10...40).contains(bytes.count), bytes[4] == 0x2D, bytes[7] == 0x2D,
            bytes.count == 10 || bytes[10] == 0x54
        else { return nil }
        let digits = Array(0..<4) + [5, 6, 8, 9]
        guard digits.allSatisfy({ (0x30...0x39).contains(bytes[$0]) }) else { return nil }
        var result = bytes
        (result[4], result[7]) = (0x3A, 0x3A)
        if bytes.count > 10 { result[10] = 0x20 }
        return String(decoding: result, as: UTF8.self)
    }
}

extension ExifTable {
    /// Returns the tag with a name.
    static func named(_ name: String) -> ExifTag? { byName[name] }

    private static let byName: [String: ExifTag] = {
        var result: [String: ExifTag] = [:]
        for table in [gpsTags, mainTags, exifTags] { for tag in table.values { result[tag.name] = tag } }
        return result
    }()
}

extension ExifTag {
    /// Returns the tag of an XMP property with a numeric value.
    func tag(_ group: String, _ number: Double) -> MetadataTag {
        let value: MetadataTag.Value
        switch kind {
        case .apexTime: value = .real(Numbers.powerOfTwo(-number))
        case .apexAperture: value = .real(Numbers.powerOfTwo(number / 2))
        default:
            value = number == number.rounded() && abs(number) < 1e15 ? .integer(Int(number)) : .real(number)
        }
        let empty = ExifData(type: 7, count: 0, bytes: [], isBigEndian: true, maxValues: 0)
        switch kind {
        case .components, .lens: return MetadataTag(group, name, value)
        default: return MetadataTag(group, name, value, text: text(value, empty))
        }
    }
}
