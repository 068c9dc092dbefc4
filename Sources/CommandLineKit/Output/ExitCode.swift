package import ImageModel

/// The exit codes of the programs.
///
/// - Source: `sysexits.h`; the error table of the documentation maps errors to codes.
package enum ExitCode: Int32 {
    case success = 0
    /// Some inputs of a batch failed; `compare`: the images differ.
    case partialFailure = 1
    case usage = 64
    case data = 65
    case noInput = 66
    case unavailable = 69
    case software = 70
    case outOfMemory = 71
    case cannotCreate = 73
    case inputOutput = 74
    case timeOut = 75
    case badProtocol = 76
    case refused = 77
    case interrupted = 130

    /// Returns the exit code of an error.
    package init(_ code: CoderError.Code) {
        self =
            switch code {
            case .unrecognizedFormat, .corrupt, .truncated, .needsInput, .notMine: .data
            case .noCoder, .unsupportedFeature, .refused, .pluginRefused, .isolationUnavailable, .failedBefore,
                .badStatus:
                .unavailable
            case .limitExceeded, .addressDenied: .refused
            case .invalidArgument, .invalidURL: .usage
            case .badContentType, .badResponse: .badProtocol
            case .cancelled: .interrupted
            case .deadlineExceeded: .timeOut
            case .outOfMemory: .outOfMemory
            case .inputOutput, .transferFailed: .inputOutput
            case .notFound: .noInput
            case .cannotCreate: .cannotCreate
            default: .software
            }
    }
}
