package import CoderHost

/// Where a plugin ran and what held it back, as JSON and in words.
package enum IsolationRendering {
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
