import CoderHost
package import ImageModel
import ImageProcessing
import Synchronization

/// Many inputs, worked on by all processors and reported in the order in which they were named.
package final class Batch<Outcome: Sendable>: Sendable {
    package typealias Report = @Sendable (_ index: Int, _ file: String, Result<Outcome, CoderError>) -> Void

    private struct State {
        /// Results that wait for those of earlier inputs.
        var results: [Int: Result<Outcome, CoderError>] = [:]
        var next = 0
        var finished = 0
        var failures = 0
        var lastCode = CoderError.Code.corrupt
        /// Nobody reads what is written any more.
        var isPointless = false
        var progress: ProgressLine
    }

    package var count: Int { inputs.count }
    private let inputs: [String]
    private let report: Report
    private let state: Mutex<State>

    /// - Parameters:
    ///   - showsProgress: whether a line says how far it is; not where somebody else draws on the terminal.
    ///   - report: called for one input at a time.
    package init(_ inputs: [String], showsProgress: Bool = true, report: @escaping Report) {
        self.inputs = inputs
        self.report = report
        state = Mutex(State(progress: ProgressLine(total: showsProgress ? inputs.count : 0)))
    }

    /// Does all of them; a failure ends nothing but the work on its own input.
    ///
    /// - Parameters:
    ///   - threads: How many at a time.
    ///   - isBound: Whether each thread is bound to a processor of its own, where there is one for each and work for all.
    ///   - finally: done when nothing is left to do, before it is said how many failed.
    package func run(
        threads: Int, isBound: Bool = false, finally: () -> Void = {},
        _ work: @escaping @Sendable (Int, String) throws(CoderError) -> Outcome
    ) -> ExitCode {
        sideBySide(inputs.count, threads: threads, isBound: isBound) { [self] index in
            if state.withLock({ $0.isPointless }) { return }
            let result = Result { () throws(CoderError) in try work(index, inputs[index]) }
            state.withLock { note(result, of: index, &$0) }
        }
        finally()
        return state.withLock { state in
            state.progress.clear()
            if state.isPointless { return .inputOutput }
            if state.failures == 0 { return .success }
            if inputs.count == 1 { return ExitCode(state.lastCode) }
            Console.error("coderhost: \(state.failures) of \(inputs.count) inputs failed")
            return .partialFailure
        }
    }

    /// Reports what is done and waits for earlier inputs, and nothing from then on: for a process that is ended.
    ///
    /// - Returns: how many inputs are done.
    package func cutShort() -> Int {
        state.withLock { state in
            for (index, result) in state.results.sorted(by: { $0.key < $1.key }) where !state.isPointless {
                report(index, inputs[index], result)
            }
            state.isPointless = true
            return state.finished
        }
    }

    private func note(_ result: Result<Outcome, CoderError>, of index: Int, _ state: inout State) {
        state.results[index] = result
        state.finished += 1
        state.progress.clear()
        while let next = state.results.removeValue(forKey: state.next) {
            if case .failure(let error) = next {
                if error.message == CoderError.readerIsGone.message { state.isPointless = true }
                state.failures += 1
                state.lastCode = error.code
            }
            if !state.isPointless { report(state.next, inputs[state.next], next) }
            state.next += 1
        }
        if state.finished < inputs.count { state.progress.show(state.finished, inputs[index]) }
    }
}
