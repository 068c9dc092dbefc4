import CConformance
import Glibc

/// The way a check's process ended.
struct ChildEnd {
    var exitStatus: Int?
    var signal: Int?
    var isLate: Bool
    var strays: Int
    var seconds: Double
    var processorSeconds: Double
    var output: [UInt8]
    var errors: [UInt8]
}

/// The process of one check.
enum Child {
    /// Starts this program again and waits for it.
    ///
    /// - Parameters:
    ///   - folder: the child's working folder.
    /// - Returns: nil if the process could not be started.
    static func run(
        _ arguments: [String], board: Board, samples: SharedBytes, folder: String, milliseconds: Int
    ) -> ChildEnd? {
        let out = unsafe kit_memory("conformance-output", 0)
        let errors = unsafe kit_memory("conformance-errors", 0)
        defer {
            close(out)
            close(errors)
        }
        guard out >= 0, errors >= 0 else { return nil }
        var words = unsafe (["/proc/self/exe"] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe words.forEach { unsafe free($0) } }
        let child = unsafe words.withUnsafeMutableBufferPointer { words in
            unsafe kit_spawn(words.baseAddress!, board.descriptor, samples.descriptor, out, errors, folder)
        }
        guard child >= 0 else { return nil }
        let end = kit_wait(child, Int32(clamping: milliseconds))
        return ChildEnd(
            exitStatus: end.exit_status < 0 ? nil : Int(end.exit_status),
            signal: end.signal == 0 ? nil : Int(end.signal),
            isLate: end.is_late != 0, strays: Int(end.strays), seconds: end.seconds,
            processorSeconds: end.processor_seconds, output: content(out), errors: content(errors))
    }

    private static func content(_ descriptor: Int32) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)))
    }

    /// Ends this process when its parent ends.
    static func endWithParent() { kit_end_with_parent() }

    /// Ends this process without running registered exit handlers.
    static func leave() -> Never { _exit(0) }
}
