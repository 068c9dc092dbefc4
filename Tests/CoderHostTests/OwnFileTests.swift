import Foundation
import TestSupport
import Testing

@testable import CoderHost

/// Settings, trust and quarantine on the disk.
@Suite struct `Small files` {
    let folder = TemporaryDirectory()

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `clear away what a process left that was killed`() throws {
        for left in [".own.coderhost-0.tmp", ".other.coderhost-0.tmp"] { folder.write([1], to: left) }

        try OwnFile.write([3], to: folder.file("own"))

        #expect(try names() == [".other.coderhost-0.tmp", "own"])
        #expect(try OwnFile.read(folder.file("own")) == [3])
    }

    @Test func `take nothing away of one that is at work`() throws {
        folder.write([1], to: ".own.coderhost-0.tmp")
        let other = try File(reading: folder.file(".own.coderhost-0.tmp"))
        try #require(flock(other.descriptor, LOCK_EX | LOCK_NB) == 0)

        try OwnFile.write([2], to: folder.file("own"))

        #expect(try names() == [".own.coderhost-0.tmp", "own"])
    }

    @Test(arguments: [0o600, 0o644] as [UInt32]) func `have the permissions that are asked for`(mode: UInt32) throws {
        try OwnFile.write([2], to: folder.file("own"), mode: mode)

        #expect(FileStatus.of(folder.file("own"))?.mode == mode | S_IFREG)
    }

    @Test func `leave nothing behind where they cannot have their name`() throws {
        folder.folder("own")

        #expect(throws: SystemError.self) { try OwnFile.write([2], to: folder.file("own")) }

        #expect(try names() == ["own"])
    }

    @Test func `have names as long as a folder can hold`() throws {
        let name = String(repeating: "a", count: 255)

        try OwnFile.write([2], to: folder.file(name))

        #expect(try names() == [name])
    }

    @Test func `are written by many at once`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 as Range<UInt8> {
                group.addTask { for _ in 0..<10 { try? OwnFile.write([number, number], to: folder.file("own")) } }
            }
        }

        let bytes = try OwnFile.read(folder.file("own"))
        #expect(bytes?.count == 2 && bytes?.first == bytes?.last)
        #expect(try names() == ["own"])
    }
}
