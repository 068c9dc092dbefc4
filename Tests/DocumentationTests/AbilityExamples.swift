import CoderHost
import Foundation
import ImageModel
import TestSupport

/// A one-page file of the format of `Tests/Examples/Mosaic`, created without the plugin.
struct Mosaic {
    var width: Int
    var height: Int
    var tile: Int
    var text = ""
    /// Distinguishes the colors of pages.
    var shade = 0

    var size: PixelSize { PixelSize(width, height) }
    private var columns: Int { (width + tile - 1) / tile }
    private var rows: Int { (height + tile - 1) / tile }

    private func color(_ index: Int) -> [UInt8] {
        [7 * index + shade, 13 * index, 29 * index].map { UInt8(truncatingIfNeeded: $0) }
    }

    var bytes: [UInt8] {
        var bytes = Array("MOSA".utf8)
        for number in [width, height, tile, text.utf8.count] {
            bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
        return bytes + text.utf8 + (0..<columns * rows).flatMap(color)
    }

    /// Returns the RGB samples of a part, reduced by `step`.
    func pixels(_ part: PixelRect? = nil, over step: Int = 1) -> [UInt8] {
        let part = part ?? PixelRect(size)
        return part.rows.flatMap { y in
            (part.x..<part.x + part.width).flatMap { x in color(y * step / tile * columns + x * step / tile) }
        }
    }
}

/// The example plugins of the page "Abilities" in a separate folder, with the files that the page names.
struct AbilityExamples {
    static let book = [
        Mosaic(width: 30, height: 20, tile: 4, text: "title"), Mosaic(width: 17, height: 33, tile: 5, shade: 50),
        Mosaic(width: 8, height: 8, tile: 1, text: "index", shade: 90),
    ]
    static let wall = Mosaic(width: 640, height: 480, tile: 16, text: "north side")
    /// Three gigapixels.
    static let map = Mosaic(width: 60_000, height: 50_000, tile: 256)
    static let plan = #"<?xml version="1.0"?><plan xmlns="urn:example:plan" width="60" height="40"/>"#
    static let scan =
        Array("P7\n# by hand\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n".utf8) + [
            1, 2, 3, 4, 5, 6,
        ]
    /// Two pixels; the samples for RGB are the third, second and first.
    static let spectrum: [UInt8] =
        Array("SPEC".utf8) + [0, 0, 0, 2, 0, 0, 0, 1]
        + (1...10).flatMap { [UInt8($0), 0x40, 0xFF, 0xFF] }

    /// A font of this system; nil if there is none.
    static let font: String? = {
        let folder = "/usr/share/fonts"
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".ttf") }.sorted().first.map { "\(folder)/\($0)" }
    }()

    let place = TemporaryDirectory()

    /// - Parameter reads: the resources that the C plugin requests, as JSON in C.
    init(reads: String = #"\"fonts\""#) throws {
        let plugins = place.folder("plugins")
        let library = "\(Repository.workerPlugins)/libexample-mosaic.so"
        guard let plugin = readFile(library) else { throw PluginBuilder.Failure(description: "there is no \(library)") }
        place.write(plugin, to: "plugins/libcoder-mosaic.so")
        let flags = [#"-DFONT="\#(Self.font ?? "/dev/null")""#, #"-DREADS="\#(reads)""#]
        try PluginBuilder.build("spectrum/spectrum.c", flags: flags, into: plugins)
        place.write(Self.book.flatMap(\.bytes), to: "book.mosaic")
        place.write(Self.wall.bytes, to: "wall.mosaic")
        place.write(Self.map.bytes, to: "map.mosaic")
        place.write(Array(Self.wall.bytes.dropFirst(4)), to: "wall.tiles")
        place.write(Array(Self.plan.utf8), to: "kitchen.xml")
        place.write(Self.spectrum, to: "field.spectrum")
        place.write(Self.scan, to: "scan.pam")
    }

    func configuration(_ isolation: IsolationPolicy = IsolationPolicy(.off)) -> HostConfiguration {
        var configuration = HostConfiguration(
            directories: [.init(place.file("plugins"), origin: .argument)], administrationDirectories: [],
            trustDirectories: [], stateDirectory: nil)
        configuration.isolation = isolation
        return configuration
    }

    func host(_ isolation: IsolationPolicy = IsolationPolicy(.off)) -> CoderHost {
        CoderHost(configuration: configuration(isolation))
    }

    func source(_ name: String) throws(CoderError) -> ImageSource { try ImageSource(path: place.file(name)) }

    func sink(_ name: String) throws(CoderError) -> FileSink { try FileSink(path: place.file(name), replacing: true) }

    func bytes(_ name: String) -> [UInt8]? { readFile(place.file(name)) }
}
