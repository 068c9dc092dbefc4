import CIsolationWire
import ImageModel
import ImageProcessing

/// What a host has to say to the process that holds the seal of its workers, and runs nothing of a plugin.
struct Guardian {
    private let channel: WorkerChannel
    private var sequence: UInt32 = 0
    /// The limit of memory that was set last.
    private var dataBytes: UInt64?

    /// Takes over a descriptor.
    init(_ descriptor: Int32) { channel = WorkerChannel(descriptor: descriptor) }

    /// Has everything refused from now on that only loading a plugin needs.
    ///
    /// - Returns: why it cannot do that; nil where it does.
    func seal() throws(GuardianFailure) -> SystemError? {
        let answer = try ask(iso_seal(), 0)
        return answer.seal == ISO_IN_FORCE ? nil : SystemError(answer.seal)
    }

    /// Has memory limited for what is forked from now on; 0 for no limit.
    mutating func limit(_ dataBytes: UInt64) throws(GuardianFailure) {
        if self.dataBytes == dataBytes { return }
        sequence &+= 1
        // That a limit cannot be set is what the worker has found out about limits as well, and reports.
        _ = try ask(iso_seal(data_bytes: dataBytes, limits: 1, reserved: 0), sequence)
        self.dataBytes = dataBytes
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
    /// Takes back what a worker says of its seal where nobody outside holds it: a plugin may have said that.
    mutating func hold(_ failure: SystemError?) {
        guard let failure else { return }
        inForce.removeAll { $0 == .seccompSeal }
        missing.removeAll { $0.mechanism == .seccompSeal }
        missing.append(Missing(mechanism: .seccompSeal, reason: failure.description))
    }
}
