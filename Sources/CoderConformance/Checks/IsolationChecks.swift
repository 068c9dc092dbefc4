import CoderHost
import ImageModel

/// The same results in a process of its own, with very few system calls left.
enum IsolationChecks {
    static let all = [forking, decoding, encoding]

    /// The second of two processes may fork; the first does nothing.
    static let forking = Check(
        "isolation.fork", "forked after init, an image has the same pixels",
        needs: ["lifecycle.decode", "determinism.decode"], processes: 2, usesWorker: true
    ) { context throws(Stop) in
        if context.process == 0 { return }
        try context.eachImage { coder, bytes throws(Stop) in
            func digest() -> UInt64 {
                var digest = Digest()
                guard let outcome = try? context.decode(coder, bytes), outcome.failure == nil else { return 0 }
                for pixels in outcome.pixels { digest.add(pixels) }
                return digest.hash
            }
            let there = forked(seconds: 10, digest)
            if there == nil || there != digest() {
                throw .fault(
                    "\(coder.id), in a process forked after init: "
                        + (there == nil ? "it crashed or hung" : there == 0 ? "decoding fails" : "other pixels"),
                    .forked, try: "start no threads in init, and keep no process-specific state")
            }
        }
    }

    /// Runs in this process and in a worker; the kit compares the notes.
    static let decoding = Check(
        "isolation.decode", "in a sealed process an image has the same pixels",
        needs: ["lifecycle.decode", "determinism.processes", "frames.facts"], processes: 2, usesWorker: true
    ) { context throws(Stop) in
        let host = try host(context)
        var digest = Digest()
        try eachCoder(context) { coder throws(CoderError) in
            for sample in context.samples where sample.coder == coder.id && coder.roles.contains(.decode) {
                let source = ImageSource(sample.bytes)
                try host.manager.withSession(source, forcing: coder.id) { session throws(CoderError) in
                    for index in 0..<(try session.frames().count) {
                        if let pixels = try session.decodeRawFrame(index) { digest.add(pixels) }
                    }
                }
            }
        }
        context.findings.note = digest.text
    }

    static let encoding = Check(
        "isolation.encode", "in a sealed process an image becomes the same file",
        needs: ["lifecycle.encode", "determinism.processes"], processes: 2, usesWorker: true
    ) { context throws(Stop) in
        if !context.manifest.coders.contains(where: { $0.roles.contains(.encode) }) {
            throw .skip("no coder encodes stills")
        }
        let host = try host(context)
        var digest = Digest()
        var judged = 0
        try eachCoder(context) { coder throws(CoderError) in
            // Another plugin of the folder may take precedence for the format.
            guard coder.roles.contains(.encode), let format = coder.formats.first?.id,
                host.manager.encoders(for: format).first?.descriptor.id == coder.id
            else { return }
            judged += 1
            let pixels = try PixelBuffer(size: PixelSize(41, 27), format: .rgb8)
            var image = ImageInfo(size: pixels.size, nativeFormat: .rgb8)
            image.frameCount = 1
            let decoded = DecodedImage(info: image, pixels: pixels, metadata: [], format: format, coder: "")
            digest.add(try host.manager.encode(decoded, to: format))
        }
        if judged == 0 { throw .skip("another plugin of its folder comes first for its formats") }
        context.findings.note = digest.text
    }

    private static func eachCoder(
        _ context: CheckContext, _ body: (PluginManifest.Coder) throws(CoderError) -> Void
    ) throws(Stop) {
        for coder in context.manifest.coders {
            context.board.coder = coder.id
            do throws(CoderError) {
                try body(coder)
            } catch {
                if context.process == 0 { throw .skip("the host cannot use it in-process either: \(error.message)") }
                // A silently denied call is often the cause of a later failure or crash.
                let refused = DeniedCalls.refused
                throw .fault(
                    "\(coder.id) works in-process, but not in a sealed worker: \(error.code): \(error.message)"
                        + (refused.isEmpty ? "" : "; \(refused)"), .sealed,
                    try: DeniedCalls.advice(error.message + " " + refused))
            }
        }
        if context.process == 1 { context.findings.remark = DeniedCalls.refused }
    }

    /// Returns a host that knows only the plugin's folder, with or without workers.
    private static func host(_ context: CheckContext) throws(Stop) -> CoderHost {
        guard let slash = context.path.lastIndex(of: "/") else { throw .skip("its path has no folder") }
        if ProcessState.isSanitized { throw .skip("a sealed process lacks memory for the sanitizer of this kit") }
        guard ProcessImage.companion("coderhost-worker") != nil else { throw .skip("no worker found") }
        var configuration = HostConfiguration(
            directories: [.init(String(context.path[..<slash]), origin: .argument)], administrationDirectories: [],
            followsChanges: false, trustPolicy: .any, trustDirectories: [], stateDirectory: nil)
        configuration.isolation = IsolationPolicy(context.process == 0 ? .off : .require, needed: [])
        configuration.isolation.recordsRefusals = true
        configuration.isolation.workerPath = ProcessImage.companion("coderhost-worker")
        let host = CoderHost(configuration: configuration)
        guard let record = host.plugins.first(where: { resolvedPath($0.path) == context.path }) else {
            throw .skip("the host uses only files named libcoder-*.so")
        }
        guard record.status.isUsable else { throw .skip("the host does not use it: \(record.status.reason)") }
        return host
    }
}

/// The system calls that the kernel denied a sealed plugin.
enum DeniedCalls {
    /// A sentence with their names; empty if no call was denied.
    static var refused: String {
        let names = RefusedCalls.names
        return names.isEmpty ? "" : "the kernel denied it \(names.joined(separator: ", "))"
    }

    private static let advices: [(calls: Set<String>, advice: String)] = [
        (
            [
                "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg",
                "recvfrom",
            ],
            "do without the network: read all input from the source"
        ),
        (
            ["fork", "vfork", "clone", "clone3", "execve", "execveat"],
            "start no process, and at most the threads that \"isolation\" in the manifest and services->threads allow"
        ),
        (
            [
                "open", "openat", "openat2", "creat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat",
                "faccessat2", "readlink", "readlinkat", "getdents64", "unlink", "unlinkat", "mkdir", "mkdirat",
                "rename",
            ],
            "read no file: compile tables in, and read input from the source"
        ),
        (["mmap", "mprotect", "pkey_mprotect"], "generate no code at run time; every page is either data or code"),
        (
            ["setrlimit", "prlimit64", "prctl", "personality", "sched_setaffinity", "setpriority"],
            "do not change the process"
        ),
        (["ioctl", "fcntl"], "use no descriptor of your own"),
    ]

    /// Returns the advice for the call named in a text.
    static func advice(_ text: String) -> String {
        let words = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
        return advices.first { !$0.calls.isDisjoint(with: words) }?.advice
            ?? "check its system calls: state.files, state.network, state.processes"
    }
}
