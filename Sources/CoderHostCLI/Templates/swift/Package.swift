// swift-tools-version: 6.2
import PackageDescription

/// The folder with coder_plugin.h, the one file of coderhost that this package needs; the Makefile asks pkg-config.
let include = Context.environment["CODERHOST_INCLUDE"] ?? "/usr/local/include"

let package = Package(
    name: "coder-@NAME@",
    products: [.library(name: "coder-@NAME@", type: .dynamic, targets: ["Coder"])],
    targets: [
        // The manifest, the tables and the entry point: constant data, so nothing has to be made at load time.
        .target(name: "CEntry", cSettings: [.unsafeFlags(["-I", include])]),
        // The coder; the functions that CEntry's header declares are implemented in Exports.swift.
        .target(
            name: "Coder", dependencies: ["CEntry"],
            swiftSettings: [
                // Without two libraries that nobody needs here, the plugin is there sooner.
                .unsafeFlags([
                    "-Xcc", "-I", "-Xcc", include, "-Xfrontend", "-disable-implicit-concurrency-module-import",
                    "-Xfrontend", "-disable-implicit-string-processing-module-import",
                ])
            ],
            linkerSettings: [
                // One exported symbol, and never unloaded: the runtime remembers the types of a file for ever.
                .unsafeFlags([
                    "-use-ld=lld", "-Xlinker", "--version-script=\(Context.packageDirectory)/coder.version",
                    "-Xlinker", "-z", "-Xlinker", "nodelete",
                ]),
                .unsafeFlags(["-Xlinker", "-s"], .when(configuration: .release)),
            ]),
    ]
)
