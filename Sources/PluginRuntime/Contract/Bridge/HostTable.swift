import CCoderPlugin
import Glibc
import PluginCatalogue

/// The version of this package.
public let coderHostVersion = "0.1.0"

/// The host table passed to entry functions; valid for the life of the process.
enum HostTable {
    // Initialized once before its first use and never changed.
    nonisolated(unsafe) static let pointer: UnsafePointer<cpi_host> = {
        let table = UnsafeMutablePointer<cpi_host>.allocate(capacity: 1)
        unsafe table.initialize(
            to: cpi_host(
                size: UInt32(MemoryLayout<cpi_host>.size), abi_minor: UInt32(CPI_ABI_MINOR),
                name: constant("coderhost"), version: constant(coderHostVersion), ctx: nil,
                get: { _, id in
                    guard unsafe strcmp(id, CPI_EXT_PARALLEL) == 0 else { return nil }
                    return unsafe UnsafeRawPointer(ParallelTable.pointer)
                }))
        return unsafe UnsafePointer(table)
    }()

    private static func constant(_ text: String) -> UnsafePointer<CChar> {
        let bytes = Array(text.utf8CString)
        let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        unsafe memory.initialize(from: bytes, count: bytes.count)
        return unsafe UnsafePointer(memory)
    }
}

/// The version of the plugin interface, `major.minor`.
package let pluginInterfaceVersion = "\(CPI_ABI_MAJOR).\(CPI_ABI_MINOR)"

/// The architecture that plugins must be built for.
package let machineName = ELFImage.machine.name
