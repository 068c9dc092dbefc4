import CoderHost
enum Catalogue {
    static let plugins: [HostConfiguration.KnownPlugin] = []
}
