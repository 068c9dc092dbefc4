import CommandLineKit
import PluginCatalogue
import Testing

/// The plugins of this package that the command recognizes.
@Suite(.timeLimit(.minutes(40))) struct `The catalogue of plugins` {
    @Test func `has the ids of its manifests`() {
        #expect(Catalogue.ids == Set(Catalogue.plugins.map(\.manifest.id)))
        #expect(Catalogue.ids.contains("org.coderhost.jpeg-plugin"))
    }
}
