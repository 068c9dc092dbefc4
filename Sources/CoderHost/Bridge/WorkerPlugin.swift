import CCoderPlugin
import CIsolationWire
import ImageModel

/// What a zygote is told about the plugin that it loads.
struct WorkerPlugin {
    /// The bytes of the plugin; nil where it has to be loaded from its own place.
    var descriptor: Int32?
    var message: [UInt8]
    /// What has to be in force before anything of the plugin is run.
    let needed: Set<Confinement.Group>

    /// - Parameters:
    ///   - path: where the file stands, with no `descriptor`.
    ///   - readable: folders and files that the loader, and the plugin while it is loaded, may read.
    ///   - threads: How many the plugin may have at one time, beside the first.
    ///   - pool: Threads of the host's that each worker may have beside those.
    ///   - idleSeconds: after which a process that nobody asks anything ends by itself.
    init(
        name: String, descriptor: Int32?, path: String, readable: [String], idleSeconds: Int, records: Bool = false,
        threads: Int = 0, pool: Int = 0, needed: Set<Confinement.Group> = []
    ) {
        self.descriptor = descriptor
        self.needed = needed
        var load = iso_load()
        load.flags = records ? ISO_FLAG_RECORD : 0
        load.host_minor = UInt32(CPI_ABI_MINOR)
        load.data_bytes = 192 << 20
        load.address_bytes = 8 << 30
        load.threads = UInt32(clamping: threads)
        load.pool = UInt32(clamping: pool)
        load.load_seconds = 10
        load.max_descriptors = 64
        load.idle_seconds = UInt32(clamping: idleSeconds)
        setWireText(&load.host_version, coderHostVersion)
        setWireText(&load.name, name)
        if descriptor == nil { setWireText(&load.path, path) }
        message = wireBytes(load, readable.flatMap { Array($0.utf8) + [0] })
    }
}
