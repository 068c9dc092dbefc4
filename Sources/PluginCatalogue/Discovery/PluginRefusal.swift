package import HostSystem

/// Why a plugin was not loaded.
package struct PluginRefusal: Error, Sendable, Hashable {
    package var status: PluginStatus
    /// Whether a retry may succeed: the file changed after the check, or the process ran out of a resource.
    package var isStale = false

    package init(_ status: PluginStatus) { self.status = status }
    package init(_ state: PluginStatus.State, _ reason: String, _ remedy: String) {
        status = PluginStatus(state, reason: reason, remedy: remedy)
    }

    package static let changed = {
        var refusal = PluginRefusal(.notAPlugin, "it changed after the check", "try again")
        refusal.isStale = true
        return refusal
    }()

    package static func unreadable(_ error: SystemError) -> PluginRefusal {
        var refusal = PluginRefusal(PluginStatus(unreadable: error))
        refusal.isStale = UnreadablePlace.isShortage(error)
        return refusal
    }

    /// The refusal for an error of the dynamic loader.
    ///
    /// The loader reports no error number, so only its text distinguishes a shortage from a missing library.
    package static func notLoaded(_ reason: String, _ path: String) -> PluginRefusal {
        for code in UnreadablePlace.shortages where reason.hasSuffix(SystemError(code).description) {
            return .unreadable(SystemError(code))
        }
        return PluginRefusal(.missingLibrary, reason, "install the missing library (see ldd \(path))")
    }
}
