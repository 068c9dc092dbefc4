import CoderHost
import FuzzTargets

/// Converts large images under small memory limits, and measures the peak of resident memory.
///
///     coderhost-fuzz memory --in DIR [--side N] [KIND…]
///
/// Each conversion succeeds or ends with the limit error. Its peak is at most the limit plus 24 MiB above the peak for
/// a one-pixel image of the same format.
struct MemoryCommand {
    private let folder: String
    private let side: Int
    private let kinds: [Kind]
    private let tool = "\(FuzzHost.products)/coderhost"
    /// Resident memory that the limit does not count: code, stacks, file buffers.
    private static let slack = 24
    private static let limits = [32, 64, 128, 256, 512]

    /// A format with options of its encoder.
    private typealias Kind = (name: String, suffix: String, options: [String])
    private static let kinds: [Kind] = [
        ("jpeg", "jpg", []), ("jpeg-progressive", "jpg", ["jpeg.progressive=true", "jpeg.subsampling=444"]),
        ("png", "png", ["effort=1"]), ("png-interlaced", "png", ["effort=3", "png.interlaced=true"]),
        ("gif", "gif", []), ("webp", "webp", ["webp.method=0"]),
        ("webp-lossless", "webp", ["lossless=true", "webp.method=0"]), ("farbfeld", "ff", []), ("bmp", "bmp", []),
        ("qoi", "qoi", []), ("tga", "tga", []),
        ("tiff", "tif", []),
        ("jxl", "jxl", ["effort=1"]),
        ("pam", "pam", []),
        ("heic", "heic", ["effort=0"]), ("avif", "avif", ["effort=0"]),
    ]

    init(_ switches: Switches) {
        folder = switches["--in"] ?? "."
        side = switches.number("--side", 2600)
        let named = switches.operands
        kinds = Self.kinds.filter { named.isEmpty || named.contains($0.name) }
    }

    /// - Returns: whether every conversion kept its limit.
    func run() -> Bool {
        writeImage("\(folder)/large.ppm", side: side)
        writeImage("\(folder)/tiny.ppm", side: 1)
        var findings = 0
        var worst = 0
        for kind in kinds {
            let words = kind.options.flatMap { ["-O", $0] }
            let (large, tiny) = ("\(folder)/large.\(kind.suffix)", "\(folder)/tiny.\(kind.suffix)")
            guard let first = convert("tiny.ppm", tiny, 2048, words), first.status == 0,
                let second = convert("large.ppm", large, 2048, words), second.status == 0,
                let base = convert("tiny.\(kind.suffix)", "\(folder)/out.pam", 2048, [])?.peakBytes
            else {
                say("finding\t\(kind.name)\tis not written without a limit")
                findings += 1
                continue
            }
            let ways = [
                ("decode", large, "\(folder)/out.pam", [], base),
                ("encode", "\(folder)/large.ppm", "\(folder)/again.\(kind.suffix)", words, first.peakBytes),
            ]
            for (verb, input, output, words, base) in ways {
                var line = "\(verb)\t\(kind.name)"
                for limit in Self.limits {
                    guard let report = convert(input, output, limit, words) else { return false }
                    let growth = max(0, report.peakBytes - base) >> 20
                    worst = max(worst, growth - limit)
                    let isRefused = report.status == 77 && errors.contains("memory=")
                    line += "\t\(limit): \(isRefused ? "refused" : "done") +\(growth)"
                    if growth <= limit + Self.slack, report.status == 0 || isRefused { continue }
                    findings += 1
                    say("finding\t\(verb) \(kind.name)\t+\(growth) MiB at \(limit): \(report.status)")
                }
                say(line)
            }
        }
        say("total\t\(findings) findings\tat most \(worst) MiB above the limit")
        return findings == 0
    }

    private var errors: String { String(decoding: wholeFile("\(folder)/errors"), as: UTF8.self) }

    private func convert(_ input: String, _ output: String, _ limit: Int, _ words: [String]) -> ChildReport? {
        let input = input.hasPrefix("/") ? input : "\(folder)/\(input)"
        let command = [
            tool, "convert", input, "-o", output, "--plugin-dir", FuzzHost.products, "--isolation", "off", "--limits",
            "default,memory=\(limit)M",
        ]
        return (try? ChildProcess.run(command + words, errors: "\(folder)/errors")) ?? nil
    }

    /// Writes smooth colors with some noise, row by row: the kernel adds this process's peak memory to its children's.
    private func writeImage(_ path: String, side: Int) {
        save(Array("P6 \(side) \(side) 255\n".utf8), to: path)
        var row = [UInt8](repeating: 0, count: 3 * side)
        for y in 0..<side {
            for x in 0..<side {
                row[3 * x] = UInt8(truncatingIfNeeded: x / 8)
                row[3 * x + 1] = UInt8(truncatingIfNeeded: y / 8)
                row[3 * x + 2] = UInt8(x * y & 15)
            }
            append(row, to: path)
        }
    }
}
