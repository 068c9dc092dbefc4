import CoderHost
import ImageModel
import PluginCatalogue

extension FuzzTarget {
    /// The host's own readers of untrusted bytes.
    static let hostReaders = [json, manifest, elf, sniffer]

    static let json = FuzzTarget("json", seeds: manifests, mutator: JSONMutator()) { bytes throws(Finding) in
        let first = try? JSONParser.parse(bytes)
        guard let first else { return }
        if (try? JSONParser.parse(bytes)) != first { throw Finding("two readings of one document differ") }
        // A parsed document can be written, and parsed again.
        let text = first.text
        guard let again = try? JSONParser.parse(Array(text.utf8)) else { throw Finding("\(text) cannot be read") }
        if again.text != text { throw Finding("\(text) is read as \(again.text)") }
    }

    static let manifest = FuzzTarget("manifest", seeds: manifests, mutator: JSONMutator()) { bytes throws(Finding) in
        let manifest: PluginManifest
        do throws(PluginManifest.Failure) {
            manifest = try PluginManifest(json: bytes)
        } catch {
            return
        }
        let sniffer = FormatSniffer(head: bytes, tail: Array(bytes.suffix(FormatSniffer.tailCount)))
        for format in manifest.coders.flatMap(\.formats) {
            // 10,000 per rank: a rank is a number of the manifest.
            _ = sniffer.score(format.signatures)
        }
    }

    /// An ELF file: program headers, notes, the dynamic section; then the manifest in it.
    static let elf = FuzzTarget("elf", seeds: sharedObjects, mutator: ELFMutator()) { bytes throws(Finding) in
        let file = File(descriptor: anonymousFile(bytes))
        guard let image = try? ELFImage(file, size: bytes.count) else { return }
        for note in image.notes where note.owner == ELFMutator.owner {
            _ = try? PluginManifest(json: note.text)
        }
        _ = image.mayExport("cpi_plugin_entry")
        if image.needed.contains(where: { $0.utf8.count > 4096 * 3 }) { throw Finding("an endless library name") }
    }

    /// Rules of untrusted manifests on untrusted bytes: the first byte declares how many are the head.
    static let sniffer = FuzzTarget("sniffer", seeds: sniffed, mutator: nil) { bytes throws(Finding) in
        let head = Array(bytes.dropFirst().prefix(FormatSniffer.headCount))
        let sniffer = FormatSniffer(head: head, tail: Array(head.suffix(FormatSniffer.tailCount)))
        for coder in FuzzHost.manager.coders {
            for format in coder.descriptor.formats {
                if let score = sniffer.score(format.signatures), score < 0 {
                    throw Finding("\(format.id) has the score \(score)")
                }
            }
        }
        var dice = Dice(UInt64(bytes.first ?? 0))
        for _ in 0..<8 {
            let part = dice.bytes(1 + dice.below(6))
            let at = Int(Int32(bitPattern: dice.awkwardNumber()))
            let rules: [Signature.Rule] = [
                .bytes(at: at, part, mask: part), .brands([Array(head.dropFirst(8).prefix(4))]),
                .riffChunk(
                    form: Array(head.dropFirst(8).prefix(4)), chunk: Array(head.dropFirst(12).prefix(4)), at: at, part,
                    mask: part), .chunk(part, before: Array(part.reversed()), from: at),
                .find(part, within: at), .xmlRoot(part, namespace: part), .tiffTag(at),
                .gzip(.find(part, within: at)), .gzip(.xmlRoot(part, namespace: nil)), .gzip(.tiffTag(at)),
            ]
            for rule in rules { _ = sniffer.score([Signature(rules: [rule])]) }
        }
    }

    // MARK: Seeds

    @Sendable static func manifests() -> [[UInt8]] {
        Seeds.files("Plugins").filter { $0.hasSuffix("manifest.json") }.map(Seeds.bytes)
            + [
                #"{"a":[1,-2.5e3,true,null,"\u00e9\ud83d\ude00\n"],"b":{"c":{}}}"#, "[[[[[[[[[[]]]]]]]]]]",
                "\"\\u0000\"",
            ]
            .map { Array($0.utf8) } + Seeds.found("json") + Seeds.found("manifest")
    }

    @Sendable static func sharedObjects() -> [[UInt8]] {
        let plugin = Seeds.files("Plugins").first { $0.hasSuffix("manifest.json") }.map(Seeds.bytes) ?? []
        return [ELFMutator.sharedObject(note: plugin), ELFMutator.sharedObject(note: Array("{}".utf8))]
            + Seeds.found("elf")
    }

    @Sendable static func sniffed() -> [[UInt8]] {
        let texts = [
            "<?xml version='1.0'?><!--a--><!DOCTYPE svg [<!ENTITY n 'b'>]><s:svg xmlns:s='&n;'/>", "junk%PDF-1.7\n",
            "II*\0\u{8}\0\0\0\u{1}\0\u{12}\u{1}\u{3}\0\u{1}\0\0\0\u{1}\0\0\0\0\0\0\0",
        ]
        // "<svg/>" of `gzip -n`.
        let packed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xB3, 0x29, 0x2E, 0x4B, 0xD7, 0xB7, 3, 0,
        ]
        return Seeds.files("Fixtures/images").map { [7] + Seeds.bytes($0).prefix(4096) } + Seeds.found("sniffer")
            + texts.map { [7] + Array($0.utf8) } + [[7] + packed]
    }
}
