import TestSupport

@testable import CoderHost

/// File heads whose recognition needs more than bytes at fixed offsets.
enum SniffedSample {
    static let svgNamespace = "http://www.w3.org/2000/svg"

    /// SVG written by different programs; each root element is `svg` in the SVG namespace.
    static let svg: [(what: String, bytes: [UInt8])] = [
        ("plain", text("<svg xmlns=\"\(svgNamespace)\" width=\"1\" height=\"1\"/>")),
        ("a declaration", text("<?xml version='1.0' encoding='UTF-8'?>\n<svg xmlns='\(svgNamespace)'></svg>")),
        ("a byte order mark", [0xEF, 0xBB, 0xBF] + text("<?xml version=\"1.0\"?><svg xmlns=\"\(svgNamespace)\"/>")),
        ("white space first", text("\r\n\t <svg\n  version=\"1.1\"\n  xmlns = \"\(svgNamespace)\"\n>\n</svg>")),
        ("a comment with a tag in it", text("<!-- <html> --> <!----><svg xmlns=\"\(svgNamespace)\"/>")),
        ("an instruction", text("<?xml-stylesheet href='a>b.css'?><svg xmlns=\"\(svgNamespace)\"/>")),
        (
            "a document type",
            text(
                """
                <?xml version="1.0" standalone="no"?>
                <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
                <svg xmlns="\(svgNamespace)"/>
                """)
        ),
        (
            "an internal subset",
            text(
                """
                <!DOCTYPE svg [
                  <!-- ]> isn't the end -->
                  <?note ]> neither?>
                  <!ENTITY closing "]><html>">
                  <!ATTLIST svg width CDATA '>'>
                  %parameter;
                ] >
                <svg xmlns="\(svgNamespace)"/>
                """)
        ),
        (
            "the namespace in an entity",
            text(
                """
                <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd" [
                  <!ENTITY ns_x "http://example.org/">
                  <!ENTITY ns_svg '\(svgNamespace)'>
                  <!ENTITY ns_svg "http://example.org/the-first-counts">
                ]>
                <svg xmlns:x="&ns_x;" xmlns="&ns_svg;"/>
                """)
        ),
        ("a prefix", text("<s:svg xmlns='http://example.org/' xmlns:s='\(svgNamespace)'/>")),
        ("text that is not ASCII", text("<!-- Übergröße, 寸法 --><svg xmlns=\"\(svgNamespace)\" id='寸'/>")),
        (
            "Latin 1",
            text("<?xml version='1.0' encoding='ISO-8859-1'?><!--") + [0xFC, 0xDF]
                + text("--><svg xmlns='\(svgNamespace)'/>")
        ),
        (
            "UTF-16, low byte first",
            utf16("<?xml version='1.0'?><!-- 寸😀 --><svg xmlns='\(svgNamespace)'/>", isLittle: true)
        ),
        ("UTF-16, high byte first", utf16("<s:svg xmlns:s='\(svgNamespace)'/>", isLittle: false)),
    ]

    /// Data that is not SVG, or ends before the root element's name.
    static let noSVG: [(what: String, bytes: [UInt8])] = [
        ("nothing", []), ("a tag that is cut off", text("<svg")), ("another element", text("<html><svg></svg></html>")),
        ("a longer name", text("<svgx/>")), ("upper case", text("<SVG/>")), ("text before it", text("hello <svg/>")),
        ("a closing tag", text("</svg>")), ("a space in the tag", text("< svg/>")),
        ("a prefix alone", text("<svg:x/>")),
        ("two prefixes", text("<a:b:svg/>")), ("an empty prefix", text("<:svg/>")), ("a digit first", text("<1svg/>")),
        ("a comment without end", text("<!-- <svg/>")), ("an instruction without end", text("<?xml <svg/>")),
        ("a document type without end", text("<!DOCTYPE svg <svg/>")),
        ("an internal subset without end", text("<!DOCTYPE svg [ <!ENTITY a 'b'> <svg/>")),
        ("an entity without end", text("<!DOCTYPE svg [ <!ENTITY a 'b ]><svg/>")),
        ("a subset in a subset", text("<!DOCTYPE svg [[ ]]><svg/>")),
        ("a document type that ends in its subset", text("<!DOCTYPE svg [ > <svg/> ]><html/>")),
        ("a quotation mark behind the name", text("<svg\"/>")), ("a zero behind the name", text("<svg\0/>")),
        ("UTF-16 without its mark", Array(utf16("<svg/>", isLittle: true).dropFirst(2))),
        ("UTF-16 with the mark of the other order", [0xFE, 0xFF] + utf16("<svg/>", isLittle: true).dropFirst(2)),
        ("two marks", [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF] + text("<svg/>")),
        ("a name behind the head", text("<!--" + String(repeating: "-", count: 4096) + "--><svg/>")),
        ("entities that name each other", text("<!DOCTYPE x [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><x xmlns='&a;'/>")),
        ("nothing but openings", text(String(repeating: "<", count: 4096))),
        ("nothing but comments", text(String(repeating: "<!---->", count: 585))),
        ("nothing but marks", [UInt8](repeating: 0xFF, count: 4096)),
    ]

    /// A TIFF file with one directory.
    ///
    /// - Parameter padding: Bytes between the header and the directory.
    static func tiff(_ tags: [Int], isLittle: Bool, isBig: Bool, padding: Int = 0) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittle ? bytes : bytes.reversed()
        }
        var bytes = text(isLittle ? "II" : "MM")
        bytes += isBig ? number(43, 2) + number(8, 2) + number(0, 2) : number(42, 2)
        bytes += number((isBig ? 16 : 8) + padding, isBig ? 8 : 4)
        bytes += [UInt8](repeating: 0, count: padding)
        bytes += number(tags.count, isBig ? 8 : 2)
        // Each is a SHORT with the value 1.
        for tag in tags { bytes += number(tag, 2) + number(3, 2) + number(1, isBig ? 8 : 4) + number(1, isBig ? 8 : 4) }
        return bytes + number(0, isBig ? 8 : 4)
    }

    static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The text with a byte order mark.
    static func utf16(_ text: String, isLittle: Bool) -> [UInt8] {
        ([0xFEFF] + Array(text.utf16)).flatMap { unit in
            isLittle ? [UInt8(unit & 0xFF), UInt8(unit >> 8)] : [UInt8(unit >> 8), UInt8(unit & 0xFF)]
        }
    }

    /// The bytes compressed by gzip(1).
    static func gzipped(_ bytes: [UInt8], _ flags: String...) throws -> [UInt8] {
        let result = try run(["gzip", "-c"] + (flags.isEmpty ? ["-9n"] : flags), input: bytes)
        guard result.status == 0 else { throw ShellFailure(description: "gzip: \(result.stderr)") }
        return result.output
    }
}
