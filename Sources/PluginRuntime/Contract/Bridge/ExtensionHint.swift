import HostSystem
import ImageProcessing

/// File name extensions as C strings that stay valid for the life of the process.
enum ExtensionHint {
    /// The maximum number of strings; later extensions are not passed to plugins.
    private static let maxCount = 256
    private static let known = Mutex<[String: UInt]>([:])

    @unsafe
    static func pointer(_ ending: String) -> UnsafePointer<CChar>? {
        let address = known.withLock { known -> UInt? in
            if let address = known[ending] { return address }
            if known.count >= maxCount { return nil }
            let bytes = Array(ending.utf8CString)
            let memory = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
            unsafe memory.initialize(from: bytes, count: bytes.count)
            let address = UInt(bitPattern: memory)
            known[ending] = address
            return address
        }
        return unsafe address.flatMap { unsafe UnsafePointer(bitPattern: $0) }
    }
}
