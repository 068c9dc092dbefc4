import CoderHost
import CommandLineKit
import Dispatch
import Glibc
import ImageLoading
import ImageModel

extension Batch {
    /// Processes all inputs with progress bars, then closes the network and reports cache problems.
    ///
    /// Before a signal ends the process, the batch reports the completed files.
    /// - Parameters:
    ///   - width: how many inputs to process at a time.
    ///   - leave: called once for every input, also for one that is skipped because the reader of the output is gone.
    func run(
        width: Int, watching bars: DownloadBars, closing network: Network,
        leaving leave: @escaping @Sendable (Int) -> Void = { _ in },
        _ work: @escaping @Sendable (Int) async throws(CoderError) -> Outcome
    ) async -> ExitCode {
        endEarlyBySignal { [self] in
            let done = cutShort()
            bars.close()
            return done
        }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= width { await group.next() }
                group.addTask { [self] in
                    await process(index, leave, work)
                }
            }
        }
        bars.close()
        await network.close()
        return end()
    }

    private func process(
        _ index: Int, _ leave: @Sendable (Int) -> Void, _ work: @Sendable (Int) async throws(CoderError) -> Outcome
    ) async {
        if isPointless {
            leave(index)
            return
        }
        let result: Result<Outcome, CoderError>
        do throws(CoderError) {
            result = .success(try await work(index))
        } catch {
            result = .failure(error)
        }
        leave(index)
        // Standard output may block.
        try? await BlockingWork.run { [self] () throws(CoderError) in note(result, of: index) }
    }

    private func endEarlyBySignal(_ report: @escaping @Sendable () -> Int) {
        Interruption.listen()
        DispatchQueue(label: "signals").async { [count] in
            while Interruption.signal == nil { usleep(Self.patience) }
            let done = report()
            if count > 1 { Console.error("coderhost: interrupted: \(done) of \(count) inputs are done") }
            // Sends the signal again with its default action, so that the parent process sees it.
            if let signal = Interruption.signal { kill(getpid(), signal) }
        }
    }

    /// The polling interval in microseconds.
    private static var patience: UInt32 { 50_000 }
}
