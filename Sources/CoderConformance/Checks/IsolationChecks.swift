import CoderHost
import ImageModel

/// The same in a process of its own, where hardly a system call is left.
enum IsolationChecks {
    static let all = [forking, decoding, encoding]

    /// The second of two processes may fork; the first has nothing to do.
    static let forking = Check(
        "isolation.fork", "forked after init, a picture has the same pixels",
        needs: ["lifecycle.decode", "determinism.decode"], processes: 2, usesWorker: true
    ) { workshop throws(Stop) in
        if workshop.process == 0 { return }
        try workshop.eachPicture { coder, bytes throws(Stop) in
            func digest() -> UInt64 {
                var digest = Digest()
                guard let outcome = try? workshop.decode(coder, bytes), outcome.failure == nil else { return 0 }
                for pixels in outcome.pixels { digest.add(pixels) }
                return digest.hash
            }
            let there = forked(seconds: 10, digest)
            if there == nil || there != digest() {
                throw .fault(
                    "\(coder.id), in a process that was forked after init: "
                        + (there == nil ? "it crashed or hung" : there == 0 ? "decoding fails" : "other pixels"),
                    .forked, try: "start no threads in init and keep nothing there that belongs to the process")
            }
        }
    }

    /// Made twice, in this process and in a worker; what is noted is compared by the kit.
    static let decoding = Check(
        "isolation.decode", "in a sealed process a picture has the same pixels",
        needs: ["lifecycle.decode", "determinism.processes", "frames.facts"], processes: 2, usesWorker: true
    ) { workshop throws(Stop) in
        let host = try host(workshop)
        var digest = Digest()
        try eachCoder(workshop) { coder throws(CoderError) in
            for sample in workshop.samples where sample.coder == coder.id && coder.roles.contains(.decode) {
                let source = ImageSource(sample.bytes)
                try host.manager.withSession(source, forcing: coder.id) { session throws(CoderError) in
                    for index in 0..<(try session.frames().count) {
                        if let pixels = try session.decodeRawFrame(index) { digest.add(pixels) }
                    }
                }
            }
        }
        workshop.note = digest.text
    }

    static let encoding = Check(
        "isolation.encode", "in a sealed process a picture becomes the same file",
        needs: ["lifecycle.encode", "determinism.processes"], processes: 2, usesWorker: true
    ) { workshop throws(Stop) in
        if !workshop.manifest.coders.contains(where: { $0.roles.contains(.encode) }) {
            throw .skip("no coder encodes stills")
        }
        let host = try host(workshop)
        var digest = Digest()
        var judged = 0
        try eachCoder(workshop) { coder throws(CoderError) in
            // Another plugin of the folder may come first for the format.
            guard coder.roles.contains(.encode), let format = coder.formats.first?.id,
                host.manager.encoders(for: format).first?.descriptor.id == coder.id
            else { return }
            judged += 1
            let pixels = try PixelBuffer(size: PixelSize(41, 27), format: .rgb8)
            var image = ImageInfo(size: pixels.size, nativeFormat: .rgb8)
            image.frameCount = 1
            let picture = DecodedImage(info: image, pixels: pixels, metadata: [], format: format, coder: "")
            digest.add(try host.manager.encode(picture, to: format))
        }
        if judged == 0 { throw .skip("another plugin of its folder comes first for its formats") }
        workshop.note = digest.text
    }

    private static func eachCoder(
        _ workshop: Workshop, _ body: (PluginManifest.Coder) throws(CoderError) -> Void
    ) throws(Stop) {
        for coder in workshop.manifest.coders {
            workshop.board.coder = coder.id
            do throws(CoderError) {
                try body(coder)
            } catch {
                if workshop.process == 0 { throw .skip("the host cannot use it in process either: \(error.message)") }
                // What was refused quietly before is often why it failed, or what it did not survive.
                let refused = SealedCalls.refused
                throw .fault(
                    "\(coder.id) works in process, and sealed it does not: \(error.code): \(error.message)"
                        + (refused.isEmpty ? "" : "; \(refused)"), .sealed,
                    try: SealedCalls.advice(error.message + " " + refused))
            }
        }
        if workshop.process == 1 { workshop.remark = SealedCalls.refused }
    }

    /// A host that knows only the plugin's folder, with or without workers.
    private static func host(_ workshop: Workshop) throws(Stop) -> CoderHost {
        guard let slash = workshop.path.lastIndex(of: "/") else { throw .skip("it stands in no folder") }
        if ProcessState.isSanitized { throw .skip("a sealed process has no room for the sanitizer of this kit") }
        guard ProcessImage.companion("coderhost-worker") != nil else { throw .skip("no worker found") }
        var configuration = HostConfiguration(
            directories: [.init(String(workshop.path[..<slash]), origin: .argument)], administrationDirectories: [],
            followsChanges: false, trustPolicy: .any, trustDirectories: [], stateDirectory: nil)
        configuration.isolation = IsolationPolicy(workshop.process == 0 ? .off : .require, needed: [])
        configuration.isolation.recordsRefusals = true
        configuration.isolation.workerPath = ProcessImage.companion("coderhost-worker")
        let host = CoderHost(configuration: configuration)
        guard let record = host.plugins.first(where: { resolvedPath($0.path) == workshop.path }) else {
            throw .skip("the host uses only files that are called libcoder-*.so")
        }
        guard record.status.isUsable else { throw .skip("the host does not use it: \(record.status.reason)") }
        return host
    }
}

/// What a sealed plugin asked of the kernel in vain.
enum SealedCalls {
    /// A sentence with the names; empty when nothing was refused.
    static var refused: String {
        let names = RefusedCalls.names
        return names.isEmpty ? "" : "the kernel refused it \(names.joined(separator: ", "))"
    }

    private static let advices: [(calls: Set<String>, advice: String)] = [
        (
            [
                "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg",
                "recvfrom",
            ],
            "do without the network: everything that is decoded comes from the source"
        ),
        (
            ["fork", "vfork", "clone", "clone3", "execve", "execveat"],
            "start no process; threads only as many as \"isolation\" in the manifest declares and services->threads allows"
        ),
        (
            [
                "open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat",
                "faccessat2", "readlink", "readlinkat", "getdents64", "unlink", "unlinkat", "mkdir", "mkdirat",
                "rename",
            ],
            "read no file: compile tables in; input comes from the source"
        ),
        (["mmap", "mprotect", "pkey_mprotect"], "make no code while it runs; every page is either data or code"),
        (
            ["setrlimit", "prlimit64", "prctl", "personality", "sched_setaffinity", "setpriority"],
            "leave the process as it is"
        ),
        (["ioctl", "fcntl"], "use no descriptor of your own"),
    ]

    /// What helps a plugin of which the text names a call.
    static func advice(_ text: String) -> String {
        let words = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
        return advices.first { !$0.calls.isDisjoint(with: words) }?.advice
            ?? "see what it asks of the kernel: state.files, state.network, state.processes"
    }
}
