import Foundation
import TestSupport
import Testing

/// Pictures that nobody of this project made, judged by the workplace's own script; skipped where they are not.
@Suite struct `Independent pictures` {
    static let folder = ["\(Repository.root)/../shared/corpus", "\(Repository.root)/../../shared/corpus"]
        .first { FileManager.default.fileExists(atPath: "\($0)/check.py") }
    /// Everything takes too long in a debug build; these suites together have some of each.
    static let suites = "pngsuite,libjpeg-turbo-testimages"

    struct Row {
        var format: String
        var file: String
        var why: String
    }
}
