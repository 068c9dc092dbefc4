import CoderHost
import ImageModel

/// Decodes one input in this process and in a worker, and compares all results of the two hosts.
package enum ModeComparison {
    /// The common result of the hosts.
    package enum Answer: Sendable {
        case decoded
        case refused
        /// A time limit ended one of the sessions, so the results cannot be compared.
        case late
    }

    private struct Hosts: Sendable {
        let inProcess = Self.host(IsolationPolicy(.off))
        let reused = Self.host(IsolationPolicy(.require, reuse: .reuse(50), needed: []))
        let fresh = Self.host(IsolationPolicy(.require, reuse: .fresh, needed: []))

        private static func host(_ policy: IsolationPolicy) -> CoderHost {
            // A worker cannot load plugins built with a sanitizer: the environment names others.
            let others = policy.mode == .off ? nil : environment("CODERHOST_TEST_WORKER_PLUGINS")
            var configuration = HostConfiguration(
                directories: [.init(others ?? FuzzHost.products, origin: .argument)], limits: Decoding.limits,
                administrationDirectories: [], followsChanges: false, stateDirectory: nil)
            configuration.isolation = policy
            return CoderHost(configuration: configuration)
        }
    }

    private static let hosts = Mutex(Hosts())

    /// Compares the parts for which a long run has time: one session always, other parts sometimes.
    ///
    /// - Parameter number: chooses the parts; every 50th case has its own worker.
    package static func sample(_ bytes: [UInt8], coder: String?, number: Int) throws(Finding) -> Answer {
        var dice = Dice(run: 50, number: number)
        var steps: Set<ModeRecord.Step> = [.session]
        for (step, times) in [(.growing, 6), (.reduced, 10), (.rawFrames, 10), (.encoded, 20)]
            as [(ModeRecord.Step, Int)] where dice.once(in: times)
        {
            steps.insert(step)
        }
        return try compare(bytes, coder: number % 2 == 0 ? coder : nil, steps, isFresh: number % 50 == 49)
    }

    /// Compares every part, with a reused worker and with a fresh one.
    package static func everything(_ bytes: [UInt8], coder: String?) throws(Finding) {
        for coder in [coder, nil] {
            for isFresh in [false, true] {
                _ = try compare(bytes, coder: coder, Set(ModeRecord.Step.allCases), isFresh: isFresh)
            }
        }
    }

    private static func compare(
        _ bytes: [UInt8], coder: String?, _ steps: Set<ModeRecord.Step>, isFresh: Bool
    ) throws(Finding) -> Answer {
        let hosts = hosts.withLock { $0 }
        let inProcess = ModeRecord(hosts.inProcess.manager, bytes, coder: coder, steps)
        let isolated = ModeRecord((isFresh ? hosts.fresh : hosts.reused).manager, bytes, coder: coder, steps)
        if inProcess.isLate || isolated.isLate { return .late }
        if isolated.place == .inProcess { throw Finding("the plugin does not run in a worker") }
        guard let difference = inProcess.difference(from: isolated) else {
            return inProcess.hasPixels ? .decoded : .refused
        }
        // A crash may have quarantined a plugin: the next input gets new hosts.
        Self.hosts.withLock { $0 = Hosts() }
        let again = ModeRecord(hosts.inProcess.manager, bytes, coder: coder, steps)
        let cause = inProcess.difference(from: again) == nil ? "" : ", and off differs from one run to the next"
        throw Finding(
            "off: \(difference.own) | require\(isFresh ? ", fresh" : ""): \(difference.other)"
                + " | coder \(coder ?? "any")\(cause)")
    }
}

extension FuzzTarget {
    /// Every format: the results of this process against those of a worker.
    package static let modes = formats.map { format in
        let id = identifier(format.name)
        return FuzzTarget(
            "modes-\(format.name)", coder: id, cost: format.cost,
            seeds: {
                let written = Seeds.written(as: format.name == "heif" ? "heic" : ImageFormat(format.name))
                let files = Seeds.images(of: id, onlyValid: true) + Seeds.handmade(format.name) + written
                let container = format.mutator as? any PartsMutator
                let rich = container.map { MetadataSeeds.added(to: files, $0) } ?? []
                return files + rich + Seeds.found(format.name) + Seeds.found("modes-\(format.name)")
            },
            mutator: EitherMutator(format.splicer, or: format.mutator ?? BytesMutator())
        ) { bytes throws(Finding) in
            try ModeComparison.everything(bytes, coder: id)
        }
    }
}
