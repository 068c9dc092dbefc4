import CIsolationWire
package import HostSystem
import ImageModel
import ImageProcessing

/// The host's connection to the guardian, the process that enforces the seal of its workers and runs no plugin code.
struct Guardian {
    private let channel: WorkerChannel
    private var sequence: UInt32 = 0
    /// The last memory limits that were set.
    private var memory: WorkerMemory?
    /// The zygote's process number as seen by the guardian, its parent; 0 before the first reply.
    private(set) var zygote: Int32 = 0

    /// Takes ownership of a descriptor.
    package init(_ descriptor: Int32) { channel = WorkerChannel(descriptor: descriptor) }

    /// From now on, refuses the system calls that only loading a plugin needs.
    ///
    /// - Returns: the reason why this is not possible; nil on success.
    package mutating func seal() throws(GuardianFailure) -> SystemError? {
        let answer = try ask(iso_seal(), 0)
        zygote = answer.zygote
        return answer.seal == ISO_IN_FORCE ? nil : SystemError(answer.seal)
    }

    /// Limits the memory of processes forked from now on.
    package mutating func limit(_ memory: WorkerMemory) throws(GuardianFailure) {
        if self.memory == memory { return }
        sequence &+= 1
        let order = iso_seal(
            data_bytes: UInt64(clamping: memory.dataBytes), address_bytes: UInt64(clamping: memory.addressBytes),
            limits: 1, reserved: 0)
        // If a limit cannot be set, the worker has already detected and reported that.
        _ = try ask(order, sequence)
        self.memory = memory
    }

    /// Permits one more fork; returns false if the guardian has ended.
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

    /// Returns the system call for which the guardian ended the worker processes; nil if there was none.
    func violation() -> Int? {
        channel.receive(milliseconds: 0) == .packet ? called() : nil
    }

    private func called() -> Int? {
        guard Int32(channel.header.type) == ISO_VIOLATION else { return nil }
        return channel.load(iso_violation.self).map { Int($0.system_call) }
    }
}

/// The guardian ended; `call` is the forbidden system call that made it end all processes.
struct GuardianFailure: Error {
    package let call: Int?
}

extension Confinement {
    /// Records whether the guardian enforces the seal.
    package mutating func hold(_ failure: SystemError?) {
        missing.removeAll { $0.mechanism == .seccompSeal }
        inForce.removeAll { $0 == .seccompSeal }
        missing.append(
            Missing(mechanism: .seccompSeal, reason: failure?.description ?? Confinement.notYet))
    }

    /// Records that a worker has sealed itself; ignores the rest of its report, because plugin code ran in its process.
    ///
    /// - Returns: False if the guardian enforces the seal and the worker reports that it is not sealed.
    package mutating func seal(_ report: Confinement) -> Bool {
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
