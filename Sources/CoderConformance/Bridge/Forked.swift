import CConformance

/// Runs `body` in a forked process; returns nil if the process crashed or did not end within `seconds`.
func forked(seconds: UInt32, _ body: () -> UInt64) -> UInt64? {
    withoutActuallyEscaping(body) { body in
        let box = Box(body)
        var answer: UInt64 = 0
        let status = unsafe kit_forked(
            { context in unsafe Unmanaged<Box>.fromOpaque(context!).takeUnretainedValue().body() },
            Unmanaged.passUnretained(box).toOpaque(), seconds, &answer)
        return status == 0 ? answer : nil
    }
}

private final class Box {
    let body: () -> UInt64

    init(_ body: @escaping () -> UInt64) { self.body = body }
}
