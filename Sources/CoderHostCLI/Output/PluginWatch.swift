import CoderHost
import CommandLineKit

/// Reports changes of plugins.
struct PluginWatch {
    private let host: CoderHost
    private let asJSON: Bool

    init(_ host: CoderHost, asJSON: Bool) {
        self.host = host
        self.asJSON = asJSON
    }

    /// Runs until an interrupt, or until the reader of standard output is gone.
    func run() {
        var known = byPath()
        if asJSON {
            for plugin in known.values.sorted(by: { $0.path < $1.path }) {
                guard report("present", plugin) else { return }
            }
        } else {
            Console.error("watching \(host.configuration.search.directories.count) folders; press Ctrl-C to stop")
        }
        while true {
            guard host.waitForChange(milliseconds: 60_000) else { continue }
            let current = byPath()
            for (path, plugin) in known.sorted(by: { $0.key < $1.key }) where current[path] == nil {
                guard report("removed", plugin) else { return }
            }
            for (path, plugin) in current.sorted(by: { $0.key < $1.key }) {
                guard let before = known[path] else {
                    guard report("added", plugin) else { return }
                    continue
                }
                if before != plugin {
                    guard report("changed", plugin) else { return }
                }
            }
            known = current
        }
    }

    private func byPath() -> [String: PluginRecord] {
        Dictionary(host.plugins.map { ($0.path, $0) }) { first, _ in first }
    }

    /// Prints an event; false if the reader of standard output is gone.
    private func report(_ event: String, _ plugin: PluginRecord) -> Bool {
        if asJSON {
            return Console.out(
                JSONValue.object([("event", .string(event)), ("plugin", PluginRendering.json(plugin))]).text)
        }
        var line = "\(event) \(plugin.fileName): "
        if event == "removed" {
            line += "\(PluginRendering.formats(plugin)) no longer available"
        } else {
            line += "\(plugin.status.state.word) (\(PluginRendering.formats(plugin)))"
            if !plugin.status.reason.isEmpty { line += ", \(plugin.status.reason)" }
        }
        return Console.out(line)
    }
}
