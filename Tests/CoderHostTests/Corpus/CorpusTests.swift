import Foundation
import TestSupport
import Testing

/// Independent images, checked by the script of the corpus; skipped if it is missing.
///
/// `CODERHOST_CORPUS=all` selects every suite, which takes minutes in a debug build.
@Suite struct `Independent images` {
    static let folder = ["\(Repository.root)/../shared/corpus", "\(Repository.root)/../../shared/corpus"]
        .first { FileManager.default.fileExists(atPath: "\($0)/check.py") }
    static let takesAll = ProcessInfo.processInfo.environment["CODERHOST_CORPUS"] == "all"
    /// Suites of large images, of which only every tenth is used by default.
    static let slowSuites: Set = [
        "exif-orientation", "libjpeg-turbo-testimages", "libvips-tests", "libwebp-test-data", "linku-avif",
        "sdwebimage",
    ]
    /// The supported formats; for other formats, only an orderly refusal is checked.
    static let formats = ["png", "jpeg", "webp", "gif", "heif", "avif"]

    @Test(.enabled(if: folder != nil, "there is no ../shared/corpus"), .timeLimit(.minutes(40)))
    func `stills match other decoders, without crashes or hangs`() throws {
        let folder = try #require(Self.folder)
        let temporary = TemporaryDirectory()
        let report = temporary.file("report.tsv")
        let manifest = temporary.file("manifest.tsv")
        let lines = try sample("\(folder)/manifest.tsv")
        #expect(writeFile(manifest, Array(lines.map { $0 + "\n" }.joined().utf8)))

        let result = try run(
            [
                "python3", "\(folder)/check.py", "--coderhost", "\(Repository.products)/coderhost", "--stills",
                "--manifest", manifest, "--report", report,
            ], timeout: .seconds(600))

        #expect(!result.timedOut)
        #expect(result.stdout.contains(", 0 crashed or hung,"), "\(result.stdout) \(result.stderr)")
        let failures = try table(report)
        let counts = Dictionary(grouping: try table(manifest)) { $0["format"]! }.mapValues(\.count)
        for format in Self.formats {
            let wrong = failures.filter { $0["format"] == format && Self.exceptions[$0["file"]!] == nil }
            let all = counts[format] ?? 0
            #expect(all > 0, "\(format) is not in the corpus")
            #expect(wrong.isEmpty, "\(wrong.map { "\($0["file"]!): \($0["why"]!)" }.joined(separator: "\n"))")
            // For formats with few exceptions, these count as failures too.
            if !["heif", "avif"].contains(format) {
                let failed = failures.filter { $0["format"] == format }.count
                #expect(Double(failed) <= Double(all) * 0.01, "\(failed) of \(all) \(format)")
            }
        }
    }

    /// The selected lines of the manifest, with the column names.
    private func sample(_ path: String) throws -> [String] {
        let lines = try lines(path)
        let rows = zip(lines.dropFirst(), try table(path)).filter { _, row in
            let isReference = row["role"] == "reference" || row["expect"] == "reference"
            return !isReference && ["", "0", "1"].contains(row["frames"]!)
        }
        let kept = rows.enumerated().filter { index, row in
            Self.takesAll || !Self.slowSuites.contains(row.1["suite"]!) || index % 10 == 0
        }
        return [lines[0]] + kept.map(\.element.0)
    }

    private func lines(_ path: String) throws -> [String] {
        String(decoding: try #require(readFile(path)), as: UTF8.self).split(whereSeparator: \.isNewline).map(
            String.init)
    }

    /// The lines of a table whose first line contains the column names.
    private func table(_ path: String) throws -> [[String: String]] {
        let lines = try lines(path)
        let names = lines[0].split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        return lines.dropFirst().map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return Dictionary(zip(names, fields)) { first, _ in first }
        }
    }
}

extension `Independent images` {
    /// Stills with a known difference and its reason.
    static let exceptions: [String: String] = {
        let mini = """
            AV1 with the 'mini' header: the references of the row have no AV1 for HEIF; rewritten with a 'meta' box, \
            avifdec gives the same pixels
            """
        let conversion = """
            libheif 1.15 turns YCbCr into RGB in its own way and does not interpolate chroma; heif-convert gives the \
            same pixels as this project, libavif others
            """
        let crop = "the clean aperture is applied, as the format says; the reference of the row leaves it out"
        var all = [
            "libheif-corpus/tests/data/simple_osm_tile_alpha.avif": mini,
            "libheif-corpus/tests/data/simple_osm_tile_meta.avif": mini,
            "chafa-tests/tests/data/bad/libavif-inf-frame-duration.avif":
                "the item is 159 pixels wide, which the one reference takes from the broken track",
            "libheif-corpus/examples/example.avif": conversion,
            "libvips-tests/test/test-suite/images/avif-orientation-6.avif": conversion,
            "linku-avif/kimono.avif": conversion,
            "linku-avif/kimono.crop.avif": crop,
            "linku-avif/kimono.mirror-vertical.rotate270.crop.avif": crop,
            "libwebp-test-data/bad_palette_index.webp":
                "it declares no alpha, so it is decoded without; dwebp treats colors outside the palette as clear",
        ]
        for layout in ["profile0.8bpc.yuv420", "profile1.8bpc.yuv444", "profile2.8bpc.yuv422"] {
            for odd in ["", ".odd-height", ".odd-width", ".odd-width.odd-height"] {
                all["linku-avif/fox.\(layout)\(odd).avif"] = conversion
            }
        }
        return all
    }()
}
