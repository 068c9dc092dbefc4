package import CoderHost
import ImageModel

/// Inputs from `Fixtures/`, and inputs of earlier findings.
package enum Seeds {
    /// The root of the source tree at build time.
    package static let root: String = {
        // Tests/Fuzz/Targets/Seeds.swift
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
    }()

    /// Every file below a folder of the tree, ordered by name.
    package static func files(_ folder: String) -> [String] {
        guard let names = try? directoryEntries("\(root)/\(folder)") else { return [] }
        return names.filter { !$0.hasPrefix(".") }.sorted().flatMap { name -> [String] in
            let path = "\(folder)/\(name)"
            return FileStatus.of("\(root)/\(path)")?.isDirectory == true ? files(path) : [path]
        }
    }

    package static func bytes(_ file: String) -> [UInt8] { wholeFile("\(root)/\(file)") }

    /// The inputs of earlier findings of this target.
    package static func found(_ target: String) -> [[UInt8]] { files("Fixtures/found/\(target)").map(bytes) }

    /// Small files of a format, under any name.
    ///
    /// - Parameter onlyValid: leaves out the files that no coder may decode.
    static func images(of coder: String, atMost count: Int = 24 << 10, onlyValid: Bool = false) -> [[UInt8]] {
        let all = files("Fixtures").filter { file in
            let folders = file.split(separator: "/").dropFirst().dropLast()
            if folders.contains("found") || folders.contains("recipes") { return false }
            return !onlyValid || !folders.contains("hostile") && !folders.contains("bad")
        }
        return all.compactMap { file in
            let bytes = bytes(file)
            guard !bytes.isEmpty, bytes.count <= count,
                FuzzHost.manager.candidates(for: ImageSource(bytes)).first?.descriptor.id == coder
            else { return nil }
            return bytes
        }
    }
}

extension Seeds {
    /// Small files of formats that have no fixtures.
    static func handmade(_ name: String) -> [[UInt8]] {
        func pixels(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 2) } }
        switch name {
        case "wbmp": return [[0, 0, 13, 7] + pixels(14), [0, 0, 0x81, 0, 4] + pixels(64)]
        case "hdr": return [Array("#?RADIANCE\n\n-Y 8 +X 7\n".utf8) + pixels(8 * 7 * 4)]
        case "pfm": return [Array("PF\n3 4\n-1.0\n".utf8) + pixels(3 * 4 * 12)]
        default: return []
        }
    }

    /// Two small images, one with alpha, that an encoder of the format writes; none for formats without such an encoder.
    static func written(as format: ImageFormat) -> [[UInt8]] {
        [(PixelSize(31, 17), PixelFormat.rgb8), (PixelSize(9, 7), .rgba8)].compactMap { size, pixels in
            guard let buffer = try? PixelBuffer(size: size, format: pixels) else { return nil }
            var dice = Dice(UInt64(size.width))
            for y in 0..<size.height {
                buffer.withMutableRow(y) { row in
                    for index in 0..<size.width * pixels.bytesPerPixel {
                        row.storeBytes(of: dice.byte(), toByteOffset: index, as: UInt8.self)
                    }
                }
            }
            let info = ImageInfo(size: size, nativeFormat: pixels)
            let image = DecodedImage(info: info, pixels: buffer, format: "pnm", coder: "none")
            return try? FuzzHost.manager.encode(image, to: format)
        }
    }
}

/// The host with the plugins of this build.
package enum FuzzHost {
    /// The folder of the executable; for a test bundle the folder of the bundle.
    package static let products: String = {
        let path = environment("CODERHOST_PRODUCTS") ?? executablePath.map { String($0[..<($0.lastIndex(of: "/")!)]) }
        return path ?? "."
    }()

    /// Whether every plugin runs in a separate process.
    package static let isIsolated = environment("CODERHOST_FUZZ_ISOLATED") != nil

    package static let host: CoderHost = {
        var configuration = HostConfiguration(
            directories: [.init(products, origin: .argument)], administrationDirectories: [], followsChanges: false)
        // A mutated image must leave nothing behind, but a process for each image would dominate the time.
        configuration.isolation = isIsolated ? IsolationPolicy(.require, reuse: .reuse(50), needed: []) : .init(.off)
        configuration.stateDirectory = nil
        return CoderHost(configuration: configuration)
    }()
    package static var manager: CodersManager { host.manager }
}
