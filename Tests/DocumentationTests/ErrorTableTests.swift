import CCoderPlugin
@testable import CoderHost
@testable import CoderPluginKit
@testable import CommandLineKit
import ImageModel
@testable import PluginRuntime
import Testing

@Suite struct `The table of errors` {
    private static let codes: [CoderError.Code] = [
        .unrecognizedFormat, .noCoder, .notMine, .corrupt, .truncated, .needsInput, .unsupportedFeature, .refused,
        .limitExceeded,
        .invalidArgument, .misuse, .cancelled, .deadlineExceeded, .outOfMemory, .inputOutput, .notFound, .cannotCreate,
        .pluginRefused, .pluginFault, .pluginCrashed, .isolationUnavailable, .invalidURL, .transferFailed,
        .badStatus, .badContentType, .badResponse, .addressDenied, .failedBefore,
    ]

    private static let statuses: [String: cpi_status] = [
        "CPI_NOT_MINE": CPI_NOT_MINE, "CPI_UNSUPPORTED": CPI_UNSUPPORTED, "CPI_REFUSED": CPI_REFUSED,
        "CPI_CORRUPT": CPI_CORRUPT,
        "CPI_TRUNCATED": CPI_TRUNCATED, "CPI_NEED_INPUT": CPI_NEED_INPUT, "CPI_LIMIT": CPI_LIMIT,
        "CPI_INVALID_ARGUMENT": CPI_INVALID_ARGUMENT, "CPI_CANCELLED": CPI_CANCELLED, "CPI_DEADLINE": CPI_DEADLINE,
        "CPI_NO_MEMORY": CPI_NO_MEMORY, "CPI_IO": CPI_IO, "CPI_MISUSE": CPI_MISUSE, "CPI_INTERNAL": CPI_INTERNAL,
    ]

    private static let rows = Markdown.article("Errors").table("Code")

    @Test func `has a row for every code and no other`() {
        #expect(Self.rows.map { $0[0] } == Self.codes.map(\.description))
        let named = Self.rows.map { $0[1] }.filter { !$0.isEmpty }
        #expect(Set(named) == Set(Self.statuses.keys) && named.count == Self.statuses.count)
    }

    @Test func `contains the exit codes of the command`() throws {
        for row in Self.rows {
            let code = try #require(Self.codes.first { $0.description == row[0] })
            #expect(row[2] == "\(ExitCode(code).rawValue)", "\(code)")
        }
    }

    @Test func `contains the statuses of a Swift plugin`() throws {
        for row in Self.rows where !row[1].isEmpty {
            let code = try #require(Self.codes.first { $0.description == row[0] })
            #expect(CoderError(code, "x").status == Self.statuses[row[1]], "\(code)")
        }
        for (code, status) in [
            (CoderError.Code.unrecognizedFormat, CPI_NOT_MINE), (.notFound, CPI_IO), (.cannotCreate, CPI_IO),
            (.noCoder, CPI_INTERNAL), (.pluginRefused, CPI_INTERNAL),
        ] {
            #expect(CoderError(code, "x").status == status, "\(code)")
        }
    }

    @Test func `contains the codes for a plugin's statuses`() throws {
        // The error for a refusal depends on the call.
        for row in Self.rows where !row[1].isEmpty && row[0] != "refused" {
            let status = try #require(Self.statuses[row[1]])
            let failure = ContractCall().failure(status, of: "decode", notes: [CPI_NEED_INPUT], coder: "x")
            #expect(failure?.code.description == row[0], "\(row[1])")
        }
        for status in [CPI_OK, CPI_END, CPI_PARTIAL] {
            #expect(ContractCall().failure(status, of: "decode", notes: [CPI_END, CPI_PARTIAL], coder: "x") == nil)
        }
        for status in [-99, 17, CPI_END] {
            #expect(ContractCall().failure(status, of: "decode", coder: "x")?.code == .pluginFault)
        }
    }
}
