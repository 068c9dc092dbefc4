import CoderHost
import Foundation
import Testing

@Suite struct `SHA-256 of bytes` {
    /// Source: FIPS 180-4 examples (NIST, SHA256.pdf) and the empty message of NIST's CAVP byte vectors.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                + "mnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ])
    func `equals the vectors of the standard`(message: String, expected: String) {
        #expect(SHA256.hexDigest(of: Array(message.utf8)) == expected)
    }

    @Test func `equals the standard's vector of a million letters`() {
        var hash = SHA256()

        for _ in 0..<1000 { hash.update([UInt8](repeating: UInt8(ascii: "a"), count: 1000)) }

        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(SHA256.hex(hash.finalize()) == expected)
    }

    @Test func `continues after a hash was taken`() {
        var hash = SHA256()
        hash.update(Array("ab".utf8))
        _ = hash.finalize()
        hash.update(Array("c".utf8))

        #expect(SHA256.hex(hash.finalize()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `pads hexadecimal digits with zeros`() {
        #expect(SHA256.hex([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
    }

    /// Lengths around the boundaries of a block and of the padding, split at random places.
    @Test func `equals sha256sum on random bytes in random pieces`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sha256-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var ours: [String: String] = [:]
        for count in Array(0...200) + [4095, 4096, 4097, 100_003] {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
            try Data(bytes).write(to: folder.appending(path: "\(count)"))
            ours["\(count)"] = inRandomPieces(bytes)
        }

        let theirs = try sha256sum(folder, ours.keys.sorted())

        #expect(ours == theirs)
    }

    private func inRandomPieces(_ bytes: [UInt8]) -> String {
        var hash = SHA256()
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 0...min(rest.count, 150))
            hash.update(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return SHA256.hex(hash.finalize())
    }

    /// The output of the coreutils tool, by file name.
    private func sha256sum(_ folder: URL, _ names: [String]) throws -> [String: String] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sha256sum")
        process.arguments = names
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let pairs = text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            return (String(words[1]), String(words[0]))
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }
}
