// swift-tools-version: 6.2
import PackageDescription

// Unsafe flags and strictness about warnings are for this package alone: a package that uses the kit builds without them.
let isDependency = Context.packageDirectory.contains("/checkouts/")

// Shared by every Swift target: `unsafe` is a keyword that can be searched, imports state how far they reach.
let strict: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .strictMemorySafety(),
    ] + (isDependency ? [] : [.treatAllWarnings(as: .error)])

// Debug builds optimize all but the tests themselves: the tests then take a third of the time, the build hardly longer.
let fast: [SwiftSetting] = isDependency ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

// What ships does without the concurrency and regular-expression runtimes: a third of the start-up time and 3 MiB.
let lean: [SwiftSetting] =
    strict + fast
    + (isDependency
        ? []
        : [
            .unsafeFlags([
                "-Xfrontend", "-disable-implicit-concurrency-module-import",
                "-Xfrontend", "-disable-implicit-string-processing-module-import",
            ])
        ])

// A dropped-in file exports one symbol and is never unloaded. (gold would keep names of hidden ones in the table.)
let pluginLinkage: [LinkerSetting] = [
    .unsafeFlags([
        "-use-ld=lld", "-Xlinker", "--version-script=\(Context.packageDirectory)/Plugins/coder.version",
        "-Xlinker", "-z", "-Xlinker", "nodelete",
    ]),
    // Symbols make a plugin forty times larger, and the host reads all of it before it loads it.
    .unsafeFlags(["-Xlinker", "-s"], .when(configuration: .release)),
]

// A program in C that is linked by Swift's driver, without the Swift runtime that the driver adds (see also linkage.c
// there): the worker starts for every plugin, and is the one thing that hostile code finds around itself.
let plainC: [LinkerSetting] =
    isDependency ? [] : [.unsafeFlags(["-nostartfiles", "-Xlinker", "-z", "-Xlinker", "now"])]

/// The C libraries that this machine lacks, from `.ci/left-out`. SwiftPM caches this file by its environment.
let missingLibraries = (Context.environment["CODERHOST_LEAVE_OUT"] ?? "").split(separator: " ").map(String.init)

/// One room under Plugins/: a codec in Swift, a shim where it stands on a C library, and the plugin itself.
struct Room {
    let product: Product
    let codec: Target.Dependency
    let targets: [Target]

    /// Describes a room, or leaves it out if a library is missing; `coderhost doctor` then lists its plugin as missing.
    ///
    /// - Parameters:
    ///   - bases: the targets of other rooms on which it stands.
    ///   - hasBoxes: whether the format is one of the ISO base media format.
    ///   - hasPalettes: whether the encoder reduces colors.
    ///   - hasLight: whether the format holds linear light.
    ///   - libraries: the C libraries; `.ci/setup` installs them.
    init?(
        _ name: String, _ format: String, on bases: [String] = [], hasBoxes: Bool = false, hasPalettes: Bool = false,
        hasLight: Bool = false, libraries: [String] = []
    ) {
        guard missingLibraries.allSatisfy({ !libraries.contains($0) }) else { return nil }
        let shim = Target.target(
            name: "\(name)Shim", path: "Plugins/\(name)/Shim", linkerSettings: libraries.map { .linkedLibrary($0) })
        let shims = libraries.isEmpty ? [] : [shim]
        let codec = Target.target(
            name: "\(name)Codec",
            dependencies: ["CoderPluginKit", "ImageModel"] + (hasBoxes ? ["ISOBoxes"] : [])
                + (hasPalettes ? ["Palettes"] : []) + (hasLight ? ["Light"] : [])
                + (shims.map(\.name) + bases).map { .target(name: $0) },
            path: "Plugins/\(name)/Codec", swiftSettings: lean)
        let plugin = Target.target(
            name: "\(name)Plugin", dependencies: [.target(name: codec.name), "CoderPluginKit", "CCoderPlugin"],
            path: "Plugins/\(name)/Plugin", exclude: ["manifest.json"], swiftSettings: lean,
            linkerSettings: pluginLinkage, plugins: ["EmbedManifest"])
        product = .library(name: "coder-\(format)", type: .dynamic, targets: [plugin.name])
        self.codec = .target(name: codec.name)
        targets = shims + [codec, plugin]
        self.bases = bases
    }

    private let bases: [String]

    /// Removes the rooms whose bases are missing.
    static func complete(_ rooms: [Room]) -> [Room] {
        let names = Set(rooms.flatMap(\.targets).map(\.name))
        let kept = rooms.filter { names.isSuperset(of: $0.bases) }
        return kept.count == rooms.count ? rooms : complete(kept)
    }
}

let rooms = Room.complete(
    [
        Room("Farbfeld", "farbfeld"),
        Room("JPEG", "jpeg", libraries: ["jpeg"]),
        Room("PNG", "png", hasPalettes: true, libraries: ["png", "isal", "z", "deflate"]),
        Room("APNG", "apng", on: ["PNGCodec", "PNGShim"]),
        Room("WebP", "webp", libraries: ["webp", "webpmux", "webpdemux"]),
        Room("AWebP", "awebp", on: ["WebPCodec", "WebPShim"]),
        Room("GIF", "gif", hasPalettes: true),
        Room("JXL", "jxl", libraries: ["jxl"]),
        Room("JPEG2000", "jp2", hasBoxes: true, libraries: ["openjp2"]),
        Room("BMP", "bmp", on: ["JPEGCodec", "PNGCodec"]),
        Room("Icons", "ico", on: ["BMPCodec", "PNGCodec"]),
        Room("TIFF", "tiff", on: ["JPEGCodec"], libraries: ["tiff"]),
        Room("Classics", "classics", hasLight: true),
        Room("EXR", "exr", hasLight: true, libraries: ["OpenEXRCore"]),
        Room("PSD", "psd", on: ["JPEGCodec"]),
        Room("HEIF", "heif", hasBoxes: true, libraries: ["heif", "de265", "dav1d", "aom", "yuv"]),
        Room("AVIF", "avif", hasBoxes: true, libraries: ["avif", "dav1d", "yuv"]),
    ].compactMap(\.self))

/// Set by `make fuzz`: libFuzzer without its main function, and what plugins take from the executable then.
let fuzzer = Context.environment["CODERHOST_FUZZER"].map { archive in
    [
        LinkerSetting.unsafeFlags([
            "-use-ld=lld", "-Xlinker", "--whole-archive", "-Xlinker", archive, "-Xlinker", "--no-whole-archive",
            "-Xlinker", "--export-dynamic", "-lstdc++", "-lm",
        ])
    ]
}

let package = Package(
    name: "coderhost",
    products: [
        .executable(name: "coderhost", targets: ["CoderHostCLI"]),
        .executable(name: "coderhost-worker", targets: ["CoderWorker"]),
        .executable(name: "coderhost-conformance", targets: ["CoderConformance"]),
        .executable(name: "coderhost-fetch", targets: ["CoderHostFetch"]),
        .executable(name: "coderhost-fuzz", targets: ["FuzzDriver"]),
        .executable(name: "loading-prover", targets: ["LoadingProver"]),
        .library(name: "CoderHost", targets: ["CoderHost", "ImageModel", "ImageProcessing"]),
        .library(name: "ImageLoading", targets: ["ImageLoading", "CoderHost", "ImageModel", "ImageProcessing"]),
        .library(name: "CoderPluginKit", targets: ["CoderPluginKit", "ImageModel"]),
        .plugin(name: "EmbedManifest", targets: ["EmbedManifest"]),
        // The example plugin of DocC's page "Abilities". Not named libcoder-…, so no host finds it in the build folder.
        .library(name: "example-mosaic", type: .dynamic, targets: ["ExampleMosaic"]),
    ] + rooms.map(\.product),
    dependencies: [
        // for ImageLoading alone
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.26.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        // 1 the contract
        .target(name: "CCoderPlugin", exclude: ["coderhost-plugin.pc.in"]),
        // 2 the vocabulary
        .target(name: "ImageModel", swiftSettings: lean, linkerSettings: [.linkedLibrary("m")]),
        // names and texts of Exif, XMP, IPTC and ICC metadata
        .target(name: "ImageMetadata", dependencies: ["ImageModel"], swiftSettings: lean),
        // 3 pixels to pixels: own kernels, and C libraries behind a shim
        .target(name: "CPixelKernels", cSettings: [.unsafeFlags(["-O3"])]),
        .target(
            name: "CPixelLibraries",
            // FreeType is loaded when the first text is drawn, so only its header is needed here.
            cSettings: [.unsafeFlags(["-I/usr/include/freetype2"])], linkerSettings: [.linkedLibrary("lcms2")]),
        .target(
            name: "ImageProcessing", dependencies: ["CPixelKernels", "CPixelLibraries", "HostSystem", "ImageModel"],
            swiftSettings: lean),
        // 4 the two sides; neither imports the other. The author's side:
        .target(name: "CoderPluginKit", dependencies: ["CCoderPlugin", "ImageModel"], swiftSettings: lean),
        // The host's side, four targets, each on those before it: the system; plugin files, judged without running them
        // (so without the contract); sessions of plugins in process and in workers; the public API.
        .target(name: "CHostSystem"),
        // Static, so that no command has one more library to load for a rare use.
        .target(name: "CSignature", linkerSettings: [.linkedLibrary(":libsodium.a")]),
        // JSON, also for the tool that embeds manifests at build time
        .target(name: "JSONModel", swiftSettings: lean),
        .target(name: "HostSystem", dependencies: ["CHostSystem", "ImageModel", "JSONModel"], swiftSettings: lean),
        .target(
            name: "PluginCatalogue", dependencies: ["CHostSystem", "CSignature", "HostSystem", "ImageModel"],
            swiftSettings: lean),
        .target(
            name: "PluginRuntime",
            dependencies: [
                "CCoderPlugin", "CHostSystem", "CIsolationWire", "HostSystem", "ImageModel", "ImageProcessing",
                "PluginCatalogue",
            ],
            swiftSettings: lean),
        .target(
            name: "CoderHost",
            dependencies: [
                "HostSystem", "ImageMetadata", "ImageModel", "ImageProcessing", "PluginCatalogue", "PluginRuntime",
            ],
            swiftSettings: lean),
        // the process that runs plugins that are not trusted, and the protocol between host and worker
        .target(name: "CIsolationWire", dependencies: ["CCoderPlugin"]),
        .executableTarget(
            name: "CoderWorker", dependencies: ["CCoderPlugin", "CIsolationWire"], linkerSettings: plainC),
        // the kit that checks any plugin
        .target(name: "CConformance"),
        .executableTarget(
            name: "CoderConformance",
            dependencies: ["CCoderPlugin", "CConformance", "CoderHost", "CommandLineKit", "HostSystem", "ImageModel"],
            swiftSettings: lean),
        // 5 loading: caches, downloads and their manager; the only targets with a network stack
        .target(name: "CContentCheck"),
        .target(
            name: "ImageLoading",
            dependencies: [
                "HostSystem",
                "CContentCheck", "CHostSystem", "CoderHost", "ImageModel", "ImageProcessing",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict + fast),
        // 6 the command line: what its programs share, coderhost, and coderhost-fetch with the network
        .target(
            name: "CommandLineKit",
            dependencies: ["CHostSystem", "CoderHost", "HostSystem", "ImageModel", "ImageProcessing"],
            swiftSettings: lean, plugins: ["EmbedCatalogue"]),
        .executableTarget(
            name: "CoderHostCLI", dependencies: ["CoderHost", "CommandLineKit", "ImageModel", "ImageProcessing"],
            exclude: ["Templates"], swiftSettings: lean, plugins: ["EmbedCatalogue"]),
        .executableTarget(
            name: "CoderHostFetch",
            dependencies: [
                "CoderHost", "CommandLineKit", "HostSystem", "ImageLoading", "ImageModel", "ImageProcessing",
            ],
            swiftSettings: strict),
        // what the rooms HEIF and AVIF read alike: boxes and the items in them
        .target(
            name: "ISOBoxes", dependencies: ["CoderPluginKit", "ImageModel"], path: "Plugins/ISOBoxes",
            swiftSettings: lean),
        // what the rooms Classics and EXR do alike: samples of linear light
        .target(
            name: "Light", dependencies: ["CoderPluginKit", "ImageModel"], path: "Plugins/Light", swiftSettings: lean),
        // what the rooms PNG and GIF do alike: few colors for many, dithering
        .target(name: "Palettes", path: "Plugins/Palettes", swiftSettings: lean),
        // manifest.json → ELF note and entry point, at build time
        .executableTarget(name: "ManifestTool", dependencies: ["JSONModel"], swiftSettings: lean),
        .plugin(
            name: "EmbedManifest", capability: .buildTool(), dependencies: ["ManifestTool"],
            path: "Sources/EmbedManifest"),
        .plugin(
            name: "EmbedCatalogue", capability: .buildTool(), dependencies: ["ManifestTool"],
            path: "Sources/EmbedCatalogue"),
    ] + rooms.flatMap(\.targets) + [
        // giflib, the second opinion on what the GIF room decodes by itself
        .target(name: "GIFShim", path: "Plugins/GIF/Shim", linkerSettings: [.linkedLibrary("gif")]),
        .target(
            name: "TestSupport", dependencies: ["HostSystem", "CoderHost", "ImageModel", "ImageProcessing"],
            path: "Tests/TestSupport", swiftSettings: strict + fast),
        .target(
            name: "ExampleMosaic", dependencies: ["CoderPluginKit", "CCoderPlugin"], path: "Tests/Examples/Mosaic",
            exclude: ["manifest.json"], swiftSettings: lean, linkerSettings: pluginLinkage, plugins: ["EmbedManifest"]),
        // what takes bytes from strangers, the program that feeds it with damaged ones, and a short run of both
        .target(
            name: "FuzzTargets", dependencies: ["PluginCatalogue", "CoderHost", "ImageModel", "ImageProcessing"],
            path: "Tests/Fuzz/Targets", swiftSettings: strict + fast),
        .executableTarget(
            name: "FuzzDriver",
            dependencies: ["PluginCatalogue", "PluginRuntime", "CoderHost", "FuzzTargets", "ImageModel"],
            path: "Tests/Fuzz/Driver",
            swiftSettings: strict, linkerSettings: fuzzer),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "CoderHost", "CoderHostCLI", "CommandLineKit", "FuzzDriver", "FuzzTargets", "ImageModel", "TestSupport",
            ],
            path: "Tests/Fuzz/Tests", swiftSettings: strict),
        .testTarget(
            name: "ImageMetadataTests", dependencies: ["CoderHost", "ImageMetadata", "ImageModel", "TestSupport"],
            swiftSettings: strict),
        .testTarget(name: "ImageModelTests", dependencies: ["ImageModel", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ImageProcessingTests", dependencies: ["HostSystem", "ImageProcessing", "ImageModel", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "CCoderPluginTests", dependencies: ["CCoderPlugin", "PluginCatalogue", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "CoderPluginKitTests", dependencies: ["CoderPluginKit", "CCoderPlugin", "ImageModel", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "CodecTests",
            dependencies: ["CoderPluginKit", "ImageModel", "Palettes", "TestSupport", "GIFShim"]
                + rooms.map { $0.codec },
            swiftSettings: strict),
        // libwebp's player, the second opinion on composited frames
        .target(
            name: "WebPPlayerShim", path: "Tests/CoderHostTests/PlayerShim",
            linkerSettings: [.linkedLibrary("webp"), .linkedLibrary("webpdemux")]),
        .testTarget(
            name: "CoderHostTests",
            dependencies: [
                "CCoderPlugin", "PluginCatalogue", "PluginRuntime", "CoderHost", "ImageModel", "ImageProcessing",
                "TestSupport", "WebPPlayerShim",
            ],
            exclude: ["PlayerShim"], swiftSettings: strict),
        // a server on loopback for the tests of downloads
        .target(
            name: "LoadingTestSupport",
            dependencies: [
                "HostSystem", "ImageProcessing", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/LoadingTestSupport", swiftSettings: strict),
        .testTarget(
            name: "CoderHostFetchTests",
            dependencies: [
                "CoderHost", "CoderHostCLI", "CoderHostFetch", "HostSystem", "ImageLoading", "LoadingTestSupport",
                "TestSupport",
            ],
            swiftSettings: strict),
        // a program that tests kill and starve while it uses a disk cache
        .executableTarget(
            name: "LoadingProver", dependencies: ["CoderHost", "ImageLoading", "ImageModel", "ImageProcessing"],
            path: "Tests/Prove/Loading", swiftSettings: strict),
        .testTarget(
            name: "ImageLoadingTests",
            dependencies: [
                "HostSystem",
                "CoderHost", "ImageLoading", "ImageModel", "ImageProcessing", "LoadingProver", "LoadingTestSupport",
                "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "CoderWorkerShim", dependencies: ["CIsolationWire"], path: "Tests/CoderWorkerTests/Shim"),
        .testTarget(
            name: "CoderWorkerTests",
            dependencies: ["CCoderPlugin", "CIsolationWire", "CoderWorkerShim", "TestSupport"],
            exclude: ["Shim"], swiftSettings: strict),
        // plugins that attack, and a judge that looks from outside; both in C, built by Tests/Hostile/build.sh
        .testTarget(
            name: "HostileTests", dependencies: ["CoderHostCLI", "CoderWorker", "TestSupport"],
            path: "Tests/Hostile/Tests", swiftSettings: strict),
        .testTarget(
            name: "CommandLineKitTests",
            dependencies: [
                "CoderHost", "CommandLineKit", "HostSystem", "ImageModel", "PluginCatalogue", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "CoderHostCLITests",
            dependencies: [
                "CoderHost", "CoderHostCLI", "CommandLineKit", "ImageModel", "ImageProcessing", "TestSupport",
            ],
            exclude: ["Snapshots"],
            swiftSettings: strict),
        .testTarget(
            name: "CoderConformanceTests", dependencies: ["CoderConformance", "CoderHost", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "PluginRuntime",
                "CCoderPlugin", "CoderHost", "CoderHostCLI", "CoderPluginKit", "CommandLineKit", "ImageLoading",
                "ImageModel", "ImageProcessing", "TestSupport",
            ],
            swiftSettings: strict),
    ]
)

// CODERHOST_TESTS=CodecTests,ImageModelTests builds these tests alone: all of them take minutes.
if let only = Context.environment["CODERHOST_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { target in target.type == .test && !only.contains { $0 == target.name } }
}

// CODERHOST_LOCAL=1 leaves out the network stack and the tests, so that `make run` builds in a third of the time.
if Context.environment["CODERHOST_LOCAL"] != nil {
    let network: Set = ["ImageLoading", "CoderHostFetch", "LoadingProver", "LoadingTestSupport"]
    let others: Set = [
        "TestSupport", "FuzzTargets", "FuzzDriver", "ExampleMosaic", "CContentCheck", "GIFShim", "WebPPlayerShim",
    ]
    let left = network.union(others)
    package.dependencies = []
    package.targets.removeAll { $0.type == .test || left.contains($0.name) }
    package.products.removeAll { product in
        ["ImageLoading", "coderhost-fetch", "coderhost-fuzz", "loading-prover", "example-mosaic"].contains(product.name)
    }
}
