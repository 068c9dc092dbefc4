import CoderHost
import ImageModel

/// Another program to compare with.
struct BenchPeer {
    enum Kind: String, CaseIterable {
        case vips, pillow, magick

        /// How to install the program.
        var remedy: String {
            switch self {
            case .vips: "apt install libvips-tools"
            case .pillow: "apt install python3-pil, or a python3 that has Pillow first in PATH"
            case .magick: "apt install imagemagick"
            }
        }
    }

    let kind: Kind
    let version: String
    /// The executables by purpose.
    private let programs: [String: String]

    var path: String { programs["main"] ?? "" }

    /// Finds the program in PATH; nil if it is missing or does not start.
    init?(_ kind: Kind, _ folder: TemporaryFolder) {
        self.kind = kind
        switch kind {
        case .vips:
            guard let vips = ChildProcess.find("vips"), let thumbnail = ChildProcess.find("vipsthumbnail"),
                let header = ChildProcess.find("vipsheader"), let said = Self.ask([vips, "--version"], folder)
            else { return nil }
            programs = ["main": vips, "thumbnail": thumbnail, "info": header]
            version = said
        case .pillow:
            guard let python = ChildProcess.find("python3"),
                let said = Self.ask(
                    [python, "-c", "import PIL.Image; print('Pillow', PIL.__version__)"], folder)
            else { return nil }
            programs = ["main": python]
            version = said
        case .magick:
            guard let magick = ChildProcess.find("magick") ?? ChildProcess.find("convert"),
                let said = Self.ask([magick, "-version"], folder), said.hasPrefix("Version: ImageMagick ")
            else { return nil }
            // Version 7 has one program; version 6 has one program per command.
            let identify = magick.hasSuffix("/magick") ? nil : ChildProcess.find("identify")
            programs = ["main": magick, "info": identify ?? ""]
            version = said.split(separator: " ").dropFirst().prefix(2).joined(separator: " ")
        }
    }

    /// Returns the first line that a program prints; nil if the program fails.
    private static func ask(_ command: [String], _ folder: TemporaryFolder) -> String? {
        let file = folder.file("answer")
        guard let report = try? ChildProcess.run(command, output: file), report.status == 0 else { return nil }
        return textLines(of: file).first
    }

    /// Returns the command line for an operation.
    ///
    /// - Parameters:
    ///   - output: the output file; its extension selects the format.
    ///   - isAnimation: whether to decode and composite all frames.
    func command(
        _ operation: BenchOperation, _ input: String, output: String, quality: Int, isAnimation: Bool
    ) -> [String] {
        let input = input.hasPrefix("-") ? "./" + input : input
        return switch kind {
        case .vips: vips(operation, input, output, quality, isAnimation)
        case .pillow: pillow(operation, input, output, quality)
        case .magick: magick(operation, input, output, quality, isAnimation)
        }
    }

    private func vips(
        _ operation: BenchOperation, _ input: String, _ output: String, _ quality: Int, _ isAnimation: Bool
    ) -> [String] {
        // In PNG, Q applies to palettes; other formats have no Q.
        let hasQuality = ["jpg", "webp", "avif", "heic"].contains { output.hasSuffix(".\($0)") }
        let target = output + (hasQuality ? "[Q=\(quality)]" : "")
        return switch operation {
        case .info: [programs["info"] ?? "", input]
        case .decode: [path, "rawsave", input + (isAnimation ? "[n=-1]" : ""), "/dev/null"]
        case .thumbnail: [programs["thumbnail"] ?? "", input, "--size", "\(BenchOperation.side)", "-o", target]
        case .convert, .encode: [path, "copy", input, target]
        }
    }

    private func pillow(_ operation: BenchOperation, _ input: String, _ output: String, _ quality: Int) -> [String] {
        let open =
            "import sys; from PIL import Image, ImageOps; Image.MAX_IMAGE_PIXELS = None; "
            + "i = Image.open(sys.argv[1])"
        let side = BenchOperation.side
        let save = "i.save(sys.argv[2], quality=\(quality))"
        // JPEG has neither palette nor alpha.
        let fit = output.hasSuffix(".jpg") ? "i = i if i.mode in ('L', 'RGB', 'CMYK') else i.convert('RGB'); " : ""
        let work =
            switch operation {
            case .info: "print(i.format, i.size, i.mode)"
            case .decode: "[(i.seek(k), i.load()) for k in range(getattr(i, 'n_frames', 1))]"
            case .thumbnail:
                "i.thumbnail((\(side), \(side))); i = ImageOps.exif_transpose(i); \(fit)\(save)"
            case .convert, .encode: fit + save
            }
        return [path, "-c", "\(open); \(work)", input, output]
    }

    private func magick(
        _ operation: BenchOperation, _ input: String, _ output: String, _ quality: Int, _ isAnimation: Bool
    ) -> [String] {
        // For PNG, -quality sets compression level and filter.
        let options = output.hasSuffix(".png") ? [] : ["-quality", "\(quality)"]
        let side = BenchOperation.side
        switch operation {
        case .info:
            let identify = programs["info"] ?? ""
            return (identify.isEmpty ? [path, "identify"] : [identify]) + ["-ping", input]
        case .decode: return [path, input] + (isAnimation ? ["-coalesce"] : []) + ["null:"]
        case .thumbnail:
            return [path, "-define", "jpeg:size=\(2 * side)x\(2 * side)", input + "[0]", "-auto-orient"]
                + ["-thumbnail", "\(side)x\(side)>"] + options + [output]
        case .convert, .encode: return [path, input + "[0]"] + options + [output]
        }
    }
}

/// Returns the non-empty lines within the first 16 KiB of a file.
func textLines(of file: String) -> [String] {
    guard let file = try? File(reading: file), let bytes = try? file.bytes(at: 0, count: 16_384) else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
}
