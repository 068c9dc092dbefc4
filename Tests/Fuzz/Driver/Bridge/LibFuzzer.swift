#if FUZZER
    import FuzzTargets
    import Glibc

    /// libFuzzer's own driver, which this program is built with by `make fuzz`.
    @_silgen_name("LLVMFuzzerRunDriver")
    private func runDriver(
        _ count: UnsafeMutablePointer<Int32>,
        _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    ) -> Int32

    @_silgen_name("LLVMFuzzerMutate")
    private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ most: Int) -> Int

    /// The fuzzed function; set once, before the driver starts.
    nonisolated(unsafe) private var current = FuzzTarget.all[0]

    enum LibFuzzer {
        /// - Parameter words: a target, then libFuzzer's own options and folders.
        static func run(_ words: [String]) -> Int32 {
            guard let target = FuzzTarget.named(words.first ?? "") else { return 64 }
            unsafe current = target
            let options = ["coderhost-fuzz"] + words.dropFirst()
            var arguments = unsafe options.map { unsafe strdup($0) } + [nil]
            var count = Int32(options.count)
            return unsafe arguments.withUnsafeMutableBufferPointer { buffer in
                var start = unsafe buffer.baseAddress!
                return unsafe runDriver(&count, &start) { bytes, count in
                    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
                    do throws(Finding) {
                        try unsafe current.run(input)
                    } catch {
                        fatalError("\(error)")
                    }
                    return 0
                }
            }
        }
    }

    /// Damages inputs with libFuzzer's mutator, and sometimes with the mutator of the format.
    @_cdecl("LLVMFuzzerCustomMutator")
    func customMutator(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ most: Int, _ seed: UInt32) -> Int {
        var dice = Dice(UInt64(seed))
        guard let mutator = unsafe current.mutator, !dice.once(in: 3) else {
            return unsafe mutateBytes(bytes, count, most)
        }
        let before = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
        var after = before
        mutator.mutate(&after, &dice, other: before)
        let length = min(after.count, most)
        unsafe after.withUnsafeBufferPointer { unsafe bytes.update(from: $0.baseAddress!, count: length) }
        return max(1, length)
    }
#endif
