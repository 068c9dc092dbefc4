import Glibc
import HostSystem

extension Batch {
    /// The polling interval in microseconds.
    private static var patience: UInt32 { 50_000 }

    /// Prints the summary of the batch before a signal, such as the one of Ctrl-C, ends the process.
    func watchSignals() {
        Interruption.listen()
        runInBackground { [self] in
            while Interruption.signal == nil {
                if isOver { return }
                usleep(Self.patience)
            }
            interrupt()
        }
    }

    /// Sends the received signal again with its default action, so that the parent process sees it.
    static func endBySignal() {
        if let signal = Interruption.signal { kill(getpid(), signal) }
    }
}
