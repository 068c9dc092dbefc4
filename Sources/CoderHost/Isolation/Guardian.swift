import CIsolationWire
import ImageModel
import ImageProcessing

/// What a host has to say to the process that holds the seal of its workers, and runs nothing of a plugin.
struct Guardian {
    private let channel: WorkerChannel
    private var sequence: UInt32 = 0
    /// The limits of memory that were set last.
    private var memory: WorkerMemory?
    /// The zygote's process number, as its parent, the guardian, knows it; 0 until the guardian has answered.
    private(set) var zygote: Int32 = 0

    /// Takes over a descriptor.
    init(_ descriptor: Int32) { channel = WorkerChannel(descriptor: descriptor) }

    /// Has everything refused from now on that only loading a plugin needs.
    ///
    /// - Returns: why it cannot do that; nil where it does.
    mutating func seal() throws(GuardianFailure) -> SystemError? {
        let answer = try ask(iso_seal(), 0)
        zygote = answer.zygote
        return answer.seal == ISO_IN_FORCE ? nil : SystemError(answer.seal)
    }

    /// Limits the memory of what is forked from now on.
    mutating func limit(_ memory: WorkerMemory) throws(GuardianFailure) {
        if self.memory == memory { return }
        sequence &+= 1
        let order = iso_seal(
            data_bytes: UInt64(clamping: memory.dataBytes), address_bytes: UInt64(clamping: memory.addressBytes),
            limits: 1, reserved: 0)
        // That a limit cannot be set is what the worker has found out about limits as well, and reports.
        _ = try ask(order, sequence)
        self.memory = memory
    }

    /// Permits one more fork; false where the guardian is gone.
    func permitFork() -> Bool {
        var header = iso_header()
        header.type = UInt16(ISO_PERMIT)
        return channel.send(header, RawSpan(), milliseconds: 1000) == .sent
    }

    private func ask(_ order: iso_seal, _ sequence: UInt32) throws(GuardianFailure) -> iso_sealed {
        var header = iso_header()
        header.type = UInt16(ISO_SEAL)
        header.sequence = sequence
        let sent = wireBytes(order).withSpan { channel.send(header, $0, milliseconds: 1000) }
        guard sent == .sent else { throw GuardianFailure(call: violation()) }
        let end = monotonicNow() + 5_000_000_000
        var arrival = WorkerChannel.Arrival.nothing
        while arrival == .nothing, monotonicNow() < end { arrival = channel.receive(milliseconds: 100) }
        guard arrival == .packet else { throw GuardianFailure(call: nil) }
        guard Int32(channel.header.type) == ISO_SEALED, channel.header.sequence == sequence,
            let answer = channel.load(iso_sealed.self)
        else { throw GuardianFailure(call: called()) }
        return answer
    }

    /// The system call behind the seal because of which it has ended everything; nil where that is not so.
    func violation() -> Int? {
        channel.receive(milliseconds: 0) == .packet ? called() : nil
    }

    private func called() -> Int? {
        guard Int32(channel.header.type) == ISO_VIOLATION else { return nil }
        return channel.load(iso_violation.self).map { Int($0.system_call) }
    }
}

/// The guardian is gone; `call` where it has ended everything because of a system call.
struct GuardianFailure: Error {
    let call: Int?
}

extension Confinement {
    /// Notes that the seal is not held from outside, if that is so.
    mutating func hold(_ failure: SystemError?) {
        missing.removeAll { $0.mechanism == .seccompSeal }
        inForce.removeAll { $0 == .seccompSeal }
        missing.append(
            Missing(mechanism: .seccompSeal, reason: failure?.description ?? Confinement.notYet))
    }

    /// Notes that a worker has sealed itself. Nothing else that it reports counts: code of a plugin ran in its process.
    ///
    /// - Returns: False where the guardian holds the seal and the worker reports that it has not sealed itself.
    mutating func seal(_ report: Confinement) -> Bool {
        guard
            let index = missing.firstIndex(where: {
                $0.mechanism == .seccompSeal && $0.reason == Confinement.notYet
            })
        else { return true }
        guard report.inForce.contains(.seccompSeal) else { return false }
        missing.remove(at: index)
        inForce.append(.seccompSeal)
        return true
    }
}
