import Foundation
public import ImageModel
import Testing

/// A plugin of this project, as its manifest in the source tree describes it.
///
/// Tests that visit every plugin or every format take the list from here. The host takes its own list from the built
/// files, so a plugin that is missing there fails the test.
public struct BundledPlugin: Sendable, Decodable {
    /// A coder of the plugin.
    public struct Coder: Sendable, Decodable {
        /// The identifier, such as `org.coderhost.jpeg`.
        public let id: String
        /// The abilities, such as `decode`.
        public let roles: [String]
        /// The formats; one that is recognized in two ways is listed twice.
        public let formats: [Format]
    }

    /// A format of a coder.
    public struct Format: Sendable, Hashable, Decodable {
        /// The identifier.
        public let id: String
        /// The file extensions; the first one is used for outputs.
        public let extensions: [String]
        /// The identifier as the host's type.
        public var format: ImageFormat { ImageFormat(id) }
    }

    private struct Identity: Decodable { let id: String }
    private struct Isolation: Decodable { let required: Bool? }

    private let plugin: Identity
    private let isolation: Isolation
    /// The coders.
    public let coders: [Coder]

    /// The name in `libcoder-NAME.so`.
    public var name: String {
        String(plugin.id.dropFirst("org.coderhost.".count).dropLast("-plugin".count))
    }

    /// Whether the plugin runs only in a worker.
    public var requiresIsolation: Bool { isolation.required ?? false }

    /// The path of the built file.
    public var path: String { "\(Repository.products)/libcoder-\(name).so" }

    /// All plugins, sorted by name.
    public static let all: [BundledPlugin] = {
        let folder = "\(Repository.root)/Plugins"
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
                .map { "\(folder)/\($0)/Plugin/manifest.json" }
                .filter { FileManager.default.fileExists(atPath: $0) }
                .map { try JSONDecoder().decode(BundledPlugin.self, from: Data(contentsOf: URL(filePath: $0))) }
                .sorted { $0.name < $1.name }
        } catch {
            Issue.record("the manifests of the plugins cannot be read: \(error)")
            return []
        }
    }()

    /// The names of all plugins.
    public static var names: [String] { all.map(\.name) }

    /// The formats of the coders with one of the roles, each once, sorted.
    public static func formats(_ roles: String...) -> [Format] {
        let coders = all.flatMap(\.coders).filter { coder in roles.contains { coder.roles.contains($0) } }
        return Dictionary(grouping: coders.flatMap(\.formats), by: \.id).map { $1[0] }.sorted { $0.id < $1.id }
    }

    /// The formats in which the plugins write stills, sorted.
    public static var written: [Format] { formats("encode") }
}
