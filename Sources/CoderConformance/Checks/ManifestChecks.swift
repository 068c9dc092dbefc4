import CCoderPlugin
import CoderHost

/// The file, its manifest, and the values of the running plugin.
enum ManifestChecks {
    static let all = [note, image, exports]
    static let running = [reports, tables, signatures]

    /// A plugin that reaches the checks has a manifest, because without one the kit stops earlier.
    static let note = Check(
        "manifest.note", "the file has one manifest note that the host can read", isStatic: true
    ) { context throws(Stop) in
        for coder in context.manifest.coders where coder.roles.isEmpty {
            throw .fault(
                "the manifest gives \(coder.id) no role that the host knows", .roles, try: "name its roles")
        }
    }

    static let image = Check(
        "manifest.image", "no executable stack, no writable code, no code that the loader changes", isStatic: true
    ) { context throws(Stop) in
        if let problem = ELFGate.memory(of: try elf(context)) {
            throw .fault(problem.reason, .image, try: problem.remedy)
        }
    }

    static let exports = Check(
        "manifest.exports", "only cpi_entry_1 is exported", isStatic: true
    ) { context throws(Stop) in
        guard let names = try elf(context).exports else { throw .skip("its tables cannot be read") }
        if !names.contains(CPI_ENTRY_SYMBOL) {
            throw .fault("it does not export \(CPI_ENTRY_SYMBOL)", .entry, try: "define it with CPI_EXPORT")
        }
        let others = names.filter { !$0.hasPrefix("cpi_entry_") }
        if let first = others.first {
            throw .fault(
                "it exports \(first)" + (others.count > 1 ? " and \(others.count - 1) other names" : ""), .entry,
                try: "compile with -fvisibility=hidden, or link with a version script; see nm -D --defined-only")
        }
    }

    private static func elf(_ context: CheckContext) throws(Stop) -> ELFImage {
        guard let image = try? PluginFile.image(context.path) else { throw .skip("its tables cannot be read") }
        return image
    }

    static let reports = Check(
        "manifest.reports", "the running plugin matches its manifest", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        let (plugin, manifest) = (try context.subject(), context.manifest)
        func same(_ what: String, _ said: String, _ written: String) throws(Stop) {
            if said != written {
                throw .fault(
                    "\(what) is \(said) in cpi_plugin and \(written) in the manifest", .manifestEqual,
                    try: "correct the one that is wrong and rebuild")
            }
        }
        try same("the id", plugin.facts.id, manifest.id)
        try same("the version", plugin.facts.version, manifest.version)
        try same("the minor it was built with", "\(plugin.facts.minorBuilt)", "\(manifest.abi.minorBuilt)")
        try same("the minor it needs", "\(plugin.facts.minorNeeded)", "\(manifest.abi.minorNeeded)")
        try same("the number of coders", "\(plugin.facts.coderCount)", "\(manifest.coders.count)")
        for coder in plugin.coders {
            guard let described = manifest.coders.first(where: { $0.id == coder.id }) else {
                throw .fault(
                    "the coder \(coder.id) is not in the manifest", .manifestEqual, try: "describe it, or remove it")
            }
            let known = CoderRoles.names.reduce(into: CoderRoles()) { $0.insert($1.role) }
            let roles = CoderRoles(rawValue: coder.roles).intersection(known)
            try same(
                "the roles of \(coder.id): what", roles.names.joined(separator: " "),
                described.roles.names.joined(separator: " "))
        }
        if plugin.facts.minorNeeded > plugin.facts.minorBuilt {
            throw .fault(
                "it needs minor \(plugin.facts.minorNeeded), but was built with \(plugin.facts.minorBuilt)",
                .manifestEqual,
                try: "set abi_minor_needed to the lowest sufficient minor")
        }
    }

    static let tables = Check(
        "manifest.tables", "every table is complete, and there is one for each role", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        let plugin = try context.subject()
        if let fault = plugin.faults.first { throw .fault(fault, .reserved, try: "correct cpi_plugin") }
        for coder in plugin.coders {
            if let fault = coder.tableFaults.first {
                throw .fault(
                    "\(coder.id): \(fault)", .size, try: "fill .size and every function that is not CPI_NULLABLE")
            }
            if coder.decodes != (coder.roles & CPI_CODER_DECODE != 0) {
                throw .fault(
                    coder.decodes
                        ? "\(coder.id) has a decoder but not its role" : "\(coder.id) has no decoder for its role",
                    .roles, try: "correct .roles or .decoder")
            }
            let encodes = coder.roles & (CPI_CODER_ENCODE | CPI_CODER_ENCODE_ANIMATION) != 0
            if (coder.encoder != nil) != encodes {
                throw .fault(
                    encodes ? "\(coder.id) has no encoder for its role" : "\(coder.id) has an encoder but not its role",
                    .roles, try: "correct .roles or .encoder")
            }
        }
    }

    static let signatures = Check(
        "manifest.signatures", "images of a format have its signature", needs: ["lifecycle.load"]
    ) { context throws(Stop) in
        var count = 0
        for sample in context.samples where sample.kind != .given {
            guard let coder = context.manifest(of: sample.coder) else { continue }
            let signatures = coder.formats.flatMap(\.signatures)
            // A coder for animations only may be given a still to write, which another coder then reads.
            if signatures.isEmpty { continue }
            count += 1
            let sniffer = FormatSniffer(head: Array(sample.bytes.prefix(4096)), tail: Array(sample.bytes.suffix(64)))
            if sniffer.score(signatures) == nil {
                throw .fault(
                    "the output of \(sample.coder) has none of the signatures in its manifest", .signatures,
                    try: "compare the first bytes: \(hex(sample.bytes.prefix(16)))")
            }
        }
        if count == 0 { throw .skip("no coder writes images, or no format has a signature") }
    }

    private static func hex(_ bytes: some Collection<UInt8>) -> String {
        bytes.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined(separator: " ")
    }
}
