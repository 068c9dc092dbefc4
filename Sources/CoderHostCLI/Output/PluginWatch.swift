import CoderHost
import CommandLineKit

/// Reports what happens to plugins while it runs.
struct PluginWatch {
    private let host: CoderHost
    private let asJSON: Bool

    init(_ host: CoderHost, asJSON: Bool) {
        self.host = host
        self.asJSON = asJSON
    }

    /// Runs until the process is interrupted or nobody reads any more.
    func run() {
        var known = byPath()
        if asJSON {
            for plugin in known.values.sorted(by: { $0.path < $1.path }) {
                guard report("present", plugin) else { return }
            }
        } else {
            Console.error("watching \(host.configuration.directories.count) folders; interrupt to stop")
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

    /// False when nobody reads any more.
    private func report(_ event: String, _ plugin: PluginRecord) -> Bool {
        if asJSON {
            return Console.out(
                JSONValue.object([("event", .string(event)), ("plugin", PluginRendering.json(plugin))]).text)
        }
        var line = "\(event) \(plugin.fileName): "
        if event == "removed" {
            line += "\(PluginRendering.formats(plugin)) no longer served by it"
        } else {
            line += "\(plugin.status.state.word) (\(PluginRendering.formats(plugin)))"
            if !plugin.status.reason.isEmpty { line += ", \(plugin.status.reason)" }
        }
        return Console.out(line)
    }
}
