import CoderHost
import CommandLineKit
import Glibc

/// Checks one plugin against the contract, each check in a process of its own.
@main
enum ConformanceCommand {
    /// As in `sysexits.h`: the plugin cannot be checked.
    static let unavailable: Int32 = 69
    static let usage: Int32 = 64

    static func main() {
        Console.reportWriteErrors()
        exit(run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ words: [String]) -> Int32 {
        var request: Request
        do throws(Request.Failure) {
            request = try Request(words)
        } catch {
            Console.error("coderhost: plugin check: \(error.message)")
            Console.error("  try: \(error.hint ?? "coderhost plugin check --help")")
            return usage
        }
        // A child has another working folder.
        if let path = resolvedPath(request.plugin) { request.plugin = path }
        if let part = request.part { CheckProcess.run(part, request) }
        let checks: [Check]
        switch Catalogue.chosen(request.only) {
        case .success(let chosen): checks = chosen
        case .failure(let unknown):
            let near = OptionCheck.nearest(unknown.word, Catalogue.all.map(\.id) + Catalogue.groups.map(\.name))
            Console.error("coderhost: there is no check or group \(unknown.word)")
            Console.error("  try: " + (near.map { "did you mean \($0)?" } ?? "coderhost plugin check --list"))
            return usage
        }
        if request.isList {
            Report.list(checks, as: request.output)
            return 0
        }
        let manifest: PluginManifest
        let samples: [Sample]
        do throws(PluginFile.Refusal) {
            manifest = try PluginFile.manifest(request.plugin)
            samples = try GivenImages.samples(request.samples, manifest)
        } catch {
            return refuse(error.reason, error.remedy, request)
        }
        guard let runner = Runner(request, manifest, samples: samples) else {
            return refuse("shared memory is not available", "check /dev/shm and memory limits", request)
        }
        var report = Report(request, manifest)
        Interruption.listen()
        for check in checks {
            report.begin(check)
            let result = runner.run(check)
            if let signal = Interruption.signal { return 128 + signal }
            report.end(result)
        }
        return report.finish()
    }

    private static func refuse(_ reason: String, _ remedy: String, _ request: Request) -> Int32 {
        Console.error("coderhost: \(request.plugin) cannot be checked: \(reason)")
        Console.error("  try: \(remedy)")
        return unavailable
    }
}

/// The images given by the user, assigned to coders by their signatures or, without signatures, by file extension.
enum GivenImages {
    static func samples(_ paths: [String], _ manifest: PluginManifest) throws(PluginFile.Refusal) -> [Sample] {
        var result: [Sample] = []
        for path in paths {
            let bytes: [UInt8]
            do throws(SystemError) {
                let file = try File(reading: path)
                bytes = try file.bytes(at: 0, count: min(try file.status().size, 8 << 20))
            } catch {
                throw PluginFile.Refusal(
                    reason: "the sample \(path) cannot be read: \(error)", remedy: "check the path")
            }
            let sniffer = FormatSniffer(head: Array(bytes.prefix(4096)), tail: Array(bytes.suffix(64)))
            let suffix = path.split(separator: "/").last?.split(separator: ".").last.map { $0.lowercased() } ?? ""
            var coders = manifest.coders.filter { coder in
                coder.formats.contains { format in
                    format.signatures.isEmpty
                        ? format.extensions.contains(suffix) : sniffer.score(format.signatures) != nil
                }
            }
            if coders.isEmpty { coders = manifest.coders.filter { $0.formats.contains(where: \.signatures.isEmpty) } }
            if coders.isEmpty {
                throw PluginFile.Refusal(
                    reason: "the sample \(path) has none of the signatures in the manifest",
                    remedy: "name an image of its format, or correct the signatures")
            }
            result += coders.map { Sample(coder: $0.id, kind: .given, bytes: bytes) }
        }
        return result
    }
}
