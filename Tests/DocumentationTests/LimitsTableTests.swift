import Foundation
import ImageModel
import TestSupport
import Testing

@testable import CommandLineKit

/// The page's table of profiles equals the values in the code; `CODERHOST_RECORD=1` updates it.
@Suite struct `Table of limits` {
    private static let page = "\(Repository.root)/Sources/CoderHost/CoderHost.docc/Limits.md"

    /// The scope of each limit, and the effect of exceeding it.
    private static let meanings = [
        "side": "pixels of each side of the canvas, of a frame, of an output",
        "pixels": "width × height of an image; of tiles or vectors, of the part that is decoded",
        "source-pixels":
            "width × height of a canvas of tiles or vectors, of which only a part or a smaller size is decoded",
        "frames": "frames",
        "total": "canvas pixels × frames",
        "input": "bytes of a file or a growing source",
        "output": "bytes that are written",
        "memory": "bytes of pixels and of a coder's own at one time",
        "metadata": "bytes of each of Exif, XMP, ICC; longer metadata is left out, or refused if it has many parts",
        "all-metadata": "bytes of all metadata of one image; the coder or the host leaves out the rest, with a warning",
        "ratio": "decoded bytes for each stored one, from 64 MiB of decoded bytes on",
        "scans": "scans of a progressive image",
        "nesting": "boxes in boxes, images made of images",
        "threads": "threads of one session; more are not started",
        "time": "milliseconds of one session (`deadlineExceeded`)",
    ]

    private static func number(_ value: Int) -> String {
        if value == 0 { return "–" }
        for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB")] where value % unit == 0 {
            return "\(value / unit) \(name)"
        }
        var digits = String(value)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }

    private static func table() throws -> String {
        var text = "| `--limits` | `DecodeLimits` | strict | default | meaning |\n|---|---|---|---|---|\n"
        let members = Dictionary(
            uniqueKeysWithValues: Mirror(reflecting: DecodeLimits.default).children.map { ($0.label ?? "", $0.value) })
        #expect(members.count == ParsedArguments.limitNames.count)
        for (name, path) in ParsedArguments.limitNames {
            // The member's name is found by changing its value.
            var changed = DecodeLimits.off
            changed[keyPath: path] = 7
            let member = try #require(Mirror(reflecting: changed).children.first { $0.value as? Int == 7 }?.label)
            let meaning = try #require(meanings[name])
            text += "| `\(name)` | `\(member)` | \(number(DecodeLimits.strict[keyPath: path])) "
            text += "| \(number(DecodeLimits.default[keyPath: path])) | \(meaning) |\n"
        }
        return text
    }

    @Test func `matches the code`() throws {
        let (start, end) = ("<!-- limits -->\n", "<!-- end of limits -->\n")
        let page = String(decoding: try #require(readFile(Self.page)), as: UTF8.self)
        let first = try #require(page.range(of: start))
        let last = try #require(page.range(of: end))
        let table = try Self.table()
        if ProcessInfo.processInfo.environment["CODERHOST_RECORD"] == "1" {
            let text = page[..<first.upperBound] + table + page[last.lowerBound...]
            #expect(writeFile(Self.page, Array(text.utf8)))
            return
        }

        #expect(String(page[first.upperBound..<last.lowerBound]) == table)
    }
}
