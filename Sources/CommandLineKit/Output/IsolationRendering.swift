package import CoderHost

/// Renders the isolation of a plugin as JSON.
package enum IsolationRendering {
    /// Returns the JSON value of a report.
    ///
    /// - Parameter report: nil for the host's own coder.
    package static func json(_ report: IsolationReport?) -> JSONValue {
        .object([
            ("mode", .string(report?.place.rawValue ?? IsolationReport.Place.inProcess.rawValue)),
            ("mechanisms", .array((report?.confinement.inForce ?? []).map { .string($0.rawValue) })),
            ("missing", .array((report?.confinement.missing ?? []).map { .string($0.mechanism.rawValue) })),
            ("asked", report.map { .string($0.mode.rawValue) } ?? .null),
            ("degraded", .bool(report?.isDegraded ?? false)),
            ("reason", .string(report?.reason ?? "the host's own coder")),
        ])
    }
}
