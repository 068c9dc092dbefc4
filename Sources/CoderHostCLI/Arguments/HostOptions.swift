import CoderHost
import ImageModel

extension ParsedArguments {
    /// The host as the common options describe it.
    func host(followsChanges: Bool = false) throws(UsageError) -> CoderHost {
        CoderHost(configuration: try configuration(followsChanges: followsChanges))
    }

    /// The folders, limits and policy as the common options describe them.
    func configuration(followsChanges: Bool = false) throws(UsageError) -> HostConfiguration {
        let named = all("--plugin-dir")
        for folder in named where FileStatus.of(folder)?.isDirectory != true {
            Console.error("coderhost: warning: --plugin-dir \(folder) is no folder")
        }
        var configuration = HostConfiguration(
            directories: HostConfiguration.standardDirectories(arguments: named),
            limits: try limits(), followsChanges: followsChanges, trustPolicy: try trustPolicy())
        configuration.catalogue = { Catalogue.plugins }
        configuration.isolation = try isolation()
        return configuration
    }

    /// The value of `--trust`; nil leaves it to the environment.
    private func trustPolicy() throws(UsageError) -> TrustPolicy? {
        guard let word = value("--trust") else {
            let set = environment("CODERHOST_TRUST") ?? ""
            if !set.isEmpty, TrustPolicy(rawValue: set) == nil {
                throw UsageError("CODERHOST_TRUST is \"\(set)\", which is none of \(Self.policies)")
            }
            return nil
        }
        guard let policy = TrustPolicy(rawValue: word) else {
            throw UsageError(
                "--trust knows \(Self.policies), not \"\(word)\"",
                hint: OptionCheck.nearest(word, TrustPolicy.allCases.map(\.rawValue)).map { "did you mean \($0)?" })
        }
        return policy
    }

    /// The values of `--isolation` and `--workers`.
    func isolation() throws(UsageError) -> IsolationPolicy {
        var policy = IsolationPolicy()
        if let text = value("--isolation") {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let modes = IsolationPolicy.Mode.allCases.map(\.rawValue)
            guard let mode = IsolationPolicy.Mode(rawValue: parts[0]), parts.count == 1 || mode == .require else {
                throw UsageError(
                    "--isolation knows auto, require and off, not \"\(text)\"",
                    hint: OptionCheck.nearest(parts[0], modes).map { "did you mean \($0)?" })
            }
            policy.mode = mode
            if parts.count == 2 { policy.needed = try Self.groups(parts[1]) }
        }
        if let text = value("--workers"), text != "fresh" {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == "reuse", let count = Int(parts[1]), (1...1_000_000).contains(count)
            else {
                throw UsageError("--workers is fresh, or reuse:N with N from 1 on, not \"\(text)\"")
            }
            policy.reuse = .reuse(count)
        }
        return policy
    }

    private static func groups(_ text: String) throws(UsageError) -> Set<Confinement.Group> {
        var result: Set<Confinement.Group> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard let group = Confinement.Group(rawValue: word) else {
                let known = Confinement.Group.allCases.map(\.rawValue)
                throw UsageError(
                    "--isolation require has no group \"\(word)\"",
                    hint: OptionCheck.nearest(word, known).map { "did you mean \($0)?" }
                        ?? "there are \(known.joined(separator: ", "))")
            }
            result.insert(group)
        }
        return result
    }

    private static let policies = TrustPolicy.allCases.map(\.rawValue).joined(separator: ", ")

    /// The value of `--limits`.
    func limits() throws(UsageError) -> DecodeLimits {
        guard let text = value("--limits") else { return .default }
        var limits = DecodeLimits.default
        for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 1, index == 0 {
                switch part {
                case "default": limits = .default
                case "strict": limits = .strict
                case "off": limits = .off
                default:
                    throw UsageError(
                        "--limits knows the profiles default, strict and off, not \"\(part)\"",
                        hint: OptionCheck.nearest(String(part), ["default", "strict", "off"]).map {
                            "did you mean \($0)?"
                        })
                }
                continue
            }
            guard pair.count == 2, let number = Self.quantity(String(pair[1])) else {
                throw UsageError("--limits \"\(part)\" is not of the form name=number (k, M and G are understood)")
            }
            guard let member = Self.limitNames.first(where: { $0.name == pair[0] }) else {
                let names = Self.limitNames.map(\.name)
                throw UsageError(
                    "--limits has no \"\(pair[0])\"",
                    hint: OptionCheck.nearest(String(pair[0]), names).map { "did you mean \($0)?" }
                        ?? "there are \(names.joined(separator: ", "))")
            }
            limits[keyPath: member.path] = number
        }
        return limits
    }

    static let limitNames: [(name: String, path: any WritableKeyPath<DecodeLimits, Int> & Sendable)] = [
        ("side", \.maxSide), ("pixels", \.maxPixels), ("frames", \.maxFrames), ("total", \.maxTotalPixels),
        ("input", \.maxInputBytes), ("output", \.maxOutputBytes), ("memory", \.maxDecodedBytes),
        ("metadata", \.maxMetadataBytes), ("ratio", \.maxRatio), ("scans", \.maxScans), ("nesting", \.maxNesting),
        ("threads", \.maxThreads), ("time", \.maxMilliseconds),
    ]

    /// A number with an optional unit of 1024.
    static func quantity(_ text: String) -> Int? {
        let units: [Character: Int] = ["k": 10, "K": 10, "M": 20, "G": 30]
        if let last = text.last, let shift = units[last] {
            guard let number = Int(text.dropLast()), number >= 0, number < 1 << 30 else { return nil }
            return number << shift
        }
        guard let number = Int(text), number >= 0 else { return nil }
        return number
    }
}
