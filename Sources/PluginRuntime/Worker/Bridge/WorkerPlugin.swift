import CCoderPlugin
import CIsolationWire
import ImageModel

/// The load request for a zygote.
struct WorkerPlugin {
    /// The bytes of the plugin; nil if it must be loaded from its folder.
    var descriptor: Int32?
    var message: [UInt8]
    /// The mechanisms that must be active before plugin code runs.
    let needed: Set<Confinement.Group>

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - path: the location of the file if there is no `descriptor`.
    ///   - readable: folders and files that the loader, and the plugin while it loads, may read.
    ///   - threads: the maximum number of additional threads of the plugin.
    ///   - pool: the number of additional host threads per worker.
    ///   - idleSeconds: the idle timeout of the process.
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
