import CoderHost
import CommandLineKit
import Dispatch
import Glibc

extension Batch {
    /// Processes all inputs with progress bars, then closes the network and reports cache problems.
    ///
    /// Before a signal ends the process, the batch reports the completed files.
    func run(
        threads: Int, watching bars: DownloadBars, closing network: Network,
        _ work: @escaping @Sendable (Int) throws(CoderError) -> Outcome
    ) -> ExitCode {
        endEarlyBySignal { [self] in
            let done = cutShort()
            bars.close()
            return done
        }
        return run(
            threads: threads,
            finally: {
                bars.close()
                network.close()
            }
        ) { index, _ throws(CoderError) in try work(index) }
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
