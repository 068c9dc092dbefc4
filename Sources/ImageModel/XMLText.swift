/// Text in XML and HTML documents.
package enum XMLText {
    /// Escapes text; characters that XML 1.0 cannot express become U+FFFD.
    ///
    /// - Parameter isAttribute: whether the text is the value of an attribute, between quotes; otherwise it is content.
    package static func escaped(_ text: String, isAttribute: Bool = true) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"" where isAttribute: result += "&quot;"
            case "'" where isAttribute: result += "&apos;"
            // A parser would make a space or a line feed of them.
            case "\n" where isAttribute, "\t" where isAttribute, "\r": result += "&#\(scalar.value);"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
