import CoderHost
import CommandLineKit
import Dispatch
import Glibc

extension Batch {
    /// Does all of them with bars on the terminal, and says in the end what the cache did not do.
    ///
    /// A signal that ends the process first lets it report what is done: files that are there already.
    func run(
        threads: Int, watching bars: TransferBars, closing network: Network,
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
            if count > 1 { Console.error("coderhost: interrupted: \(done) of \(count) inputs were done") }
            // Whoever started it learns of the signal: its handling is the usual one again.
            if let signal = Interruption.signal { kill(getpid(), signal) }
        }
    }

    /// Between two looks; microseconds.
    private static var patience: UInt32 { 50_000 }
}
