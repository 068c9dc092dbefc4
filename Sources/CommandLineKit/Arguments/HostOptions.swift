package import CoderHost
package import ImageModel

extension ParsedArguments {
    /// Creates the host that the common options describe.
    package func host(followsChanges: Bool = false) throws(UsageError) -> CoderHost {
        CoderHost(configuration: try configuration(followsChanges: followsChanges))
    }

    /// Returns the folders, limits and policies that the common options describe.
    package func configuration(followsChanges: Bool = false) throws(UsageError) -> HostConfiguration {
        let named = all("--plugin-dir")
        for folder in named where FileStatus.of(folder)?.isDirectory != true {
            Console.error("coderhost: warning: --plugin-dir \(folder) is not a folder")
        }
        var configuration = HostConfiguration(
            directories: PluginSearch.standardDirectories(arguments: named),
            limits: try limits(), followsChanges: followsChanges, trustPolicy: try trustPolicy())
        configuration.catalogue = { Catalogue.plugins }
        configuration.catalogueIDs = { Catalogue.ids }
        configuration.isolation = try isolation()
        return configuration
    }

    /// Returns the configuration for a number of images: one image uses all processors, several use one thread each.
    package func configuration(imageCount: Int) throws(UsageError) -> HostConfiguration {
        var configuration = try configuration()
        let usual = imageCount == 1 ? Machine.processorCount : 1
        configuration.threadsPerImage = try integer("--threads", 1...256) ?? usual
        // An explicit --threads raises the limit.
        if value("--threads") != nil, configuration.limits.maxThreads > 0 {
            configuration.limits.maxThreads = max(configuration.limits.maxThreads, configuration.threadsPerImage)
        }
        return configuration
    }

    /// Returns the value of `--trust`; nil leaves the choice to the environment.
    private func trustPolicy() throws(UsageError) -> TrustPolicy? {
        guard let word = value("--trust") else {
            let set = environment("CODERHOST_TRUST") ?? ""
            if !set.isEmpty, TrustPolicy(rawValue: set) == nil {
                throw UsageError("invalid CODERHOST_TRUST value \"\(set)\": expected \(Self.policies)")
            }
            return nil
        }
        guard let policy = TrustPolicy(rawValue: word) else {
            throw UsageError(
                "invalid --trust value \"\(word)\": expected \(Self.policies)",
                hint: OptionCheck.nearest(word, TrustPolicy.allCases.map(\.rawValue)).map { "did you mean \($0)?" })
        }
        return policy
    }

    /// Returns the values of `--isolation` and `--workers`.
    package func isolation() throws(UsageError) -> IsolationPolicy {
        var policy = IsolationPolicy()
        if let text = value("--isolation") {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let modes = IsolationPolicy.Mode.allCases.map(\.rawValue)
            guard let mode = IsolationPolicy.Mode(rawValue: parts[0]), parts.count == 1 || mode == .require else {
                throw UsageError(
                    "invalid --isolation value \"\(text)\": expected auto, require or off",
                    hint: OptionCheck.nearest(parts[0], modes).map { "did you mean \($0)?" })
            }
            policy.mode = mode
            if parts.count == 2 { policy.needed = try Self.groups(parts[1]) }
        }
        if let text = value("--workers"), text != "fresh" {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == "reuse", let count = Int(parts[1]), (1...1_000_000).contains(count)
            else {
                throw UsageError("invalid --workers value \"\(text)\": expected fresh, or reuse:N with N at least 1")
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
                    "unknown group \"\(word)\" in --isolation require",
                    hint: OptionCheck.nearest(word, known).map { "did you mean \($0)?" }
                        ?? "groups: \(known.joined(separator: ", "))")
            }
            result.insert(group)
        }
        return result
    }

    private static let policies = TrustPolicy.allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the value of `--limits`: a profile, then limits that override it.
    package func limits() throws(UsageError) -> DecodeLimits {
        guard has("--limits") else { return .default }
        // Several --limits add up, so that a second one does not silently drop the profile of the first.
        let text = all("--limits").joined(separator: ",")
        var limits = DecodeLimits.default
        var seen: Set<String> = []
        for (index, part) in text.split(separator: ",", omittingEmptySubsequences: false).map(String.init).enumerated()
        {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if pair.count == 1 {
                guard let profile = Self.profiles.first(where: { $0.name == part }) else { throw Self.noProfile(part) }
                guard index == 0 else {
                    throw UsageError(
                        "invalid --limits value: the profile \(part) must come first",
                        hint: "for example --limits \(part),pixels=100M")
                }
                limits = profile.limits
                continue
            }
            guard let member = Self.limitNames.first(where: { $0.name == pair[0] }) else {
                let names = Self.limitNames.map(\.name)
                throw UsageError(
                    "unknown limit \"\(pair[0])\" in --limits",
                    hint: OptionCheck.nearest(pair[0], names).map { "did you mean \($0)?" }
                        ?? "limits: \(names.joined(separator: ", "))")
            }
            guard seen.insert(member.name).inserted else {
                throw UsageError("--limits sets \(member.name) twice", hint: "remove one of the two")
            }
            guard let number = Self.quantity(pair[1]) else { throw Self.noNumber(member, pair[1]) }
            limits[keyPath: member.path] = number
        }
        return limits
    }

    private static let profiles: [(name: String, limits: DecodeLimits)] = [
        ("default", .default), ("strict", .strict), ("off", .off),
    ]

    /// Returns the error for a word without a value that is not a profile.
    private static func noProfile(_ word: String) -> UsageError {
        let names = profiles.map(\.name)
        if word.isEmpty {
            return UsageError(
                "--limits has an empty part",
                hint: "for example --limits strict,pixels=100M")
        }
        if limitNames.contains(where: { $0.name == word }) {
            return UsageError("--limits \(word) has no value", hint: "--limits \(word)=N, for example \(word)=100M")
        }
        let near =
            OptionCheck.nearest(word, names) ?? OptionCheck.nearest(word, limitNames.map { $0.name }).map { "\($0)=N" }
        return UsageError(
            "unknown profile \"\(word)\" in --limits: expected default, strict or off",
            hint: near.map { "did you mean \($0)?" } ?? "pass a profile, or set one limit: --limits pixels=100M")
    }

    /// Returns the error for an invalid value of a limit.
    private static func noNumber(
        _ member: (name: String, path: any WritableKeyPath<DecodeLimits, Int> & Sendable), _ text: String
    ) -> UsageError {
        let name = member.name
        let example =
            "the default is \(name)=\(DecodeLimits.default[keyPath: member.path]); k, M, G and T multiply by "
            + "1024, 1024², 1024³ and 1024⁴"
        if text.isEmpty { return UsageError("--limits \(name)= has no value", hint: example) }
        let digits = "kKMGT".contains(text.last ?? "0") ? text.dropLast() : text[...]
        if !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return UsageError("--limits \(name)=\(text) is too large", hint: "use \(name)=0 for no limit; \(example)")
        }
        if text.hasPrefix("-") {
            return UsageError("--limits \(name)=\(text) is negative", hint: "use \(name)=0 for no limit; \(example)")
        }
        return UsageError("--limits \(name)=\(text) is not a whole number", hint: example)
    }

    /// The names of all limits in `--limits`.
    package static let limitNames: [(name: String, path: any WritableKeyPath<DecodeLimits, Int> & Sendable)] = [
        ("side", \.maxSide), ("pixels", \.maxPixels), ("source-pixels", \.maxSourcePixels),
        ("frames", \.maxFrames), ("total", \.maxTotalPixels),
        ("input", \.maxInputBytes), ("output", \.maxOutputBytes), ("memory", \.maxDecodedBytes),
        ("metadata", \.maxMetadataBytes), ("all-metadata", \.maxTotalMetadataBytes), ("ratio", \.maxRatio),
        ("scans", \.maxScans), ("nesting", \.maxNesting), ("threads", \.maxThreads), ("time", \.maxMilliseconds),
    ]

    /// Parses a number with an optional suffix: k, M, G, T and KiB … (powers of 1024), or KB … (powers of 1000).
    package static func quantity(_ text: String) -> Int? {
        // Int accepts a leading plus sign; options do not.
        guard !text.hasPrefix("+") else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let power = powers[text.dropFirst(digits.count).prefix(1).lowercased()] else {
            return nil
        }
        let base: Int
        switch text.dropFirst(digits.count + 1) {
        case "", "iB": base = 1024
        case "B" where power > 0: base = 1000
        default: return nil
        }
        let (factor, isTooLarge) = (0..<power).reduce((1, false)) { value, _ in
            let product = value.0.multipliedReportingOverflow(by: base)
            return (product.partialValue, value.1 || product.overflow)
        }
        let (result, overflows) = number.multipliedReportingOverflow(by: factor)
        return isTooLarge || overflows ? nil : result
    }

    private static let powers = ["": 0, "k": 1, "m": 2, "g": 3, "t": 4]
}
