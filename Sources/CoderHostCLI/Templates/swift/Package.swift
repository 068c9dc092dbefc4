// swift-tools-version: 6.2
import PackageDescription

/// The folder with coder_plugin.h, the only dependency on coderhost. The Makefile gets it from pkg-config.
let include = Context.environment["CODERHOST_INCLUDE"] ?? "/usr/local/include"

let package = Package(
    name: "coder-@NAME@",
    products: [.library(name: "coder-@NAME@", type: .dynamic, targets: ["Coder"])],
    targets: [
        // The manifest, the tables and the entry point: constant data without initialization at load time.
        .target(name: "CEntry", cSettings: [.unsafeFlags(["-I", include])]),
        // The coder. Exports.swift implements the functions that the header of CEntry declares.
        .target(
            name: "Coder", dependencies: ["CEntry"],
            swiftSettings: [
                // Without two unused libraries, the plugin loads faster.
                .unsafeFlags([
                    "-Xcc", "-I", "-Xcc", include, "-Xfrontend", "-disable-implicit-concurrency-module-import",
                    "-Xfrontend", "-disable-implicit-string-processing-module-import",
                ])
            ],
            linkerSettings: [
                // Exports one symbol. Never unloaded, because the Swift runtime keeps references to its types.
                .unsafeFlags([
                    "-use-ld=lld", "-Xlinker", "--version-script=\(Context.packageDirectory)/coder.version",
                    "-Xlinker", "-z", "-Xlinker", "nodelete",
                ]),
                .unsafeFlags(["-Xlinker", "-s"], .when(configuration: .release)),
            ]),
    ]
)
