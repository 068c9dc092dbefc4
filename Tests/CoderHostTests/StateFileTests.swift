import Foundation
import TestSupport
import Testing

@testable import CoderHost

/// The host's files for settings, trust and quarantine.
@Suite struct `Small files` {
    let folder = TemporaryDirectory()

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `replace abandoned files of a killed process`() throws {
        for left in [".own.coderhost-0.tmp", ".other.coderhost-0.tmp"] { folder.write([1], to: left) }

        try StateFile.write([3], to: folder.file("own"))

        #expect(try names() == [".other.coderhost-0.tmp", "own"])
        #expect(try StateFile.read(folder.file("own")) == [3])
    }

    @Test func `keep the files of a running process`() throws {
        folder.write([1], to: ".own.coderhost-0.tmp")
        let other = try File(reading: folder.file(".own.coderhost-0.tmp"))
        try #require(flock(other.descriptor, LOCK_EX | LOCK_NB) == 0)

        try StateFile.write([2], to: folder.file("own"))

        #expect(try names() == [".own.coderhost-0.tmp", "own"])
    }

    @Test(arguments: [0o600, 0o644] as [UInt32]) func `have the requested permissions`(mode: UInt32) throws {
        try StateFile.write([2], to: folder.file("own"), mode: mode)

        #expect(FileStatus.of(folder.file("own"))?.mode == mode | S_IFREG)
    }

    @Test func `leave no temporary file if they cannot be renamed`() throws {
        folder.folder("own")

        #expect(throws: SystemError.self) { try StateFile.write([2], to: folder.file("own")) }

        #expect(try names() == ["own"])
    }

    @Test func `can have the longest possible names`() throws {
        let name = String(repeating: "a", count: 255)

        try StateFile.write([2], to: folder.file(name))

        #expect(try names() == [name])
    }

    @Test func `can be written concurrently`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 as Range<UInt8> {
                group.addTask { for _ in 0..<10 { try? StateFile.write([number, number], to: folder.file("own")) } }
            }
        }

        let bytes = try StateFile.read(folder.file("own"))
        #expect(bytes?.count == 2 && bytes?.first == bytes?.last)
        #expect(try names() == ["own"])
    }
}
