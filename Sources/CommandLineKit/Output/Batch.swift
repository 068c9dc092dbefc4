package import CoderHost
package import ImageModel
import HostSystem
import ImageProcessing

/// Processes many inputs in parallel and reports the results in input order.
package final class Batch<Outcome: Sendable>: Sendable {
    /// Receives the result of one input.
    package typealias Report = @Sendable (_ index: Int, _ file: String, Result<Outcome, CoderError>) -> Void

    private struct State {
        /// Results waiting for the results of earlier inputs.
        var results: [Int: Result<Outcome, CoderError>] = [:]
        var next = 0
        var finished = 0
        var failures = 0
        var tally = BatchTally()
        var lastCode = CoderError.Code.corrupt
        /// Whether the reader of standard output is gone.
        var isPointless = false
        /// Whether the last input is done.
        var isOver = false
        var progress: ProgressLine
    }

    /// The number of inputs.
    package var count: Int { inputs.count }
    private let inputs: [String]
    private let report: Report
    private let state: Mutex<State>
    private let summary: BatchSummary?

    /// - Parameters:
    ///   - showsProgress: whether to show a progress line; false if the caller draws on the terminal.
    ///   - report: receives the results, one call at a time.
    package init(_ inputs: [String], showsProgress: Bool = true, report: @escaping Report) {
        self.inputs = inputs
        self.report = report
        summary = nil
        state = Mutex(State(progress: ProgressLine(total: showsProgress ? inputs.count : 0)))
    }

    /// Creates the batch of a command that writes files, with a summary at the end.
    ///
    /// - Parameter outputIsTaken: whether the image data goes to standard output.
    package init(
        _ arguments: ParsedArguments, _ host: CoderHost, outputIsTaken: Bool = false, report: @escaping Report
    ) {
        inputs = arguments.operands
        self.report = report
        summary = BatchSummary(arguments, host, outputIsTaken: outputIsTaken)
        state = Mutex(State(progress: ProgressLine(total: inputs.count)))
    }

    /// Processes all inputs; a failure does not stop the other inputs.
    ///
    /// - Parameters:
    ///   - threads: how many inputs to process in parallel.
    ///   - isBound: whether to bind each thread to its own processor, if there are enough processors and inputs.
    ///   - finally: runs after the last input, before the summary of failures.
    package func run(
        threads: Int, isBound: Bool = false, finally: () -> Void = {},
        _ work: @escaping @Sendable (Int, String) throws(CoderError) -> Outcome
    ) -> ExitCode {
        if isWatched { watchSignals() }
        runInParallel(inputs.count, threads: threads, isBound: isBound) { [self] index in
            if isPointless { return }
            note(Result { () throws(CoderError) in try work(index, inputs[index]) }, of: index)
        }
        finally()
        return end()
    }

    /// Whether the reader of standard output is gone, so that further work has no use.
    package var isPointless: Bool { state.withLock { $0.isPointless } }

    /// Notes the result of one input, and reports it after those of all earlier inputs.
    package func note(_ result: Result<Outcome, CoderError>, of index: Int) {
        state.withLock { note(result, of: index, &$0) }
    }

    /// Prints the number of failures, and returns the exit code.
    package func end() -> ExitCode {
        state.withLock { state in
            if isWatched, state.finished < inputs.count, Interruption.signal != nil { interrupt(&state) }
            state.isOver = true
            state.progress.clear()
            if state.isPointless { return .inputOutput }
            let unread = summary?.files.unreadFolders ?? 0
            let isTold = summary?.report(state.tally, failures: state.failures) ?? false
            if state.failures == 0 { return unread == 0 ? .success : .partialFailure }
            if inputs.count == 1 { return ExitCode(state.lastCode) }
            if !isTold { Console.error("coderhost: \(state.failures) of \(inputs.count) inputs failed") }
            return .partialFailure
        }
    }

    /// Reports all finished inputs out of order, then stops reporting. Call it when a signal ends the process.
    ///
    /// - Returns: the number of finished inputs.
    package func cutShort() -> Int {
        state.withLock { state in
            cutShort(&state)
            return state.finished
        }
    }

    private func cutShort(_ state: inout State) {
        for (index, result) in state.results.sorted(by: { $0.key < $1.key }) where !state.isPointless {
            count(result, &state)
            report(index, inputs[index], result)
        }
        state.results = [:]
        state.isPointless = true
    }

    /// Whether a signal ends the batch with a summary.
    private var isWatched: Bool { summary != nil && inputs.count > 1 }

    /// Whether the last input is done.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Reports the finished inputs and the numbers of the batch, then ends the process by the signal that it received.
    func interrupt() { state.withLock { interrupt(&$0) } }

    private func interrupt(_ state: inout State) {
        if !state.isOver, !state.isPointless {
            state.progress.clear()
            cutShort(&state)
            summary?.report(state.tally, failures: state.failures, left: inputs.count - state.finished)
        }
        Self.endBySignal()
    }

    private func note(_ result: Result<Outcome, CoderError>, of index: Int, _ state: inout State) {
        // The signal of Ctrl-C also ends the workers: their failures are no results.
        if case .failure = result, isWatched, Interruption.signal != nil { return }
        state.results[index] = result
        state.finished += 1
        state.progress.clear()
        while let next = state.results.removeValue(forKey: state.next) {
            if case .failure(let error) = next {
                if summary?.skips(inputs[state.next], after: error) ?? false {
                    state.tally.unrecognized += 1
                    state.next += 1
                    continue
                }
                if error.message == CoderError.readerIsGone.message { state.isPointless = true }
                state.lastCode = error.code
            }
            count(next, &state)
            if !state.isPointless { report(state.next, inputs[state.next], next) }
            state.next += 1
        }
        if state.finished < inputs.count { state.progress.show(state.finished, inputs[index]) }
    }

    private func count(_ result: Result<Outcome, CoderError>, _ state: inout State) {
        switch result {
        case .failure: state.failures += 1
        case .success(let outcome):
            if let counted = outcome as? any BatchOutcome { state.tally = state.tally + counted.total }
        }
    }
}
