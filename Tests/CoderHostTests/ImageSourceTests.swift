import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Image source` {
    private let folder = TemporaryDirectory()

    @Test(arguments: [0, 1, 4095, 65_535, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 3 << 20]) func `reads a whole file`(
        count: Int
    ) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }

        let source = try ImageSource(path: folder.write(bytes, to: "in"))

        #expect(source.count == count)
        #expect(source.isComplete)
        #expect(source.bytes(0..<count) == bytes)
    }

    @Test func `reads a file of unknown size`() throws {
        let source = try ImageSource(path: "/proc/self/status")

        #expect(source.count > 100)
        #expect(source.bytes(0..<5) == Array("Name:".utf8))
    }

    @Test(arguments: [0, 1, 65_536, 200_000]) func `waits for the writer of a pipe`(count: Int) throws {
        let path = folder.write([UInt8](repeating: 7, count: count), to: "data")
        let fifo = folder.file("fifo")
        try shell("mkfifo", fifo)
        // The writer starts after the reader.
        try shell("sh", "-c", "(sleep 0.3; exec cat \"$0\" > \"$1\") > /dev/null 2>&1 &", path, fifo)

        #expect(try ImageSource(path: fifo).count == count)
    }

    @Test func `reports the problem with a path`() throws {
        folder.write([1], to: "file")
        for (path, code) in [("nothing", .notFound), ("file/below", .notFound), ("", .inputOutput)]
            as [(String, CoderError.Code)]
        {
            let error = #expect(throws: CoderError.self) { try ImageSource(path: folder.file(path)) }
            #expect(error?.code == code)
            #expect(error?.hint != nil)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything")) func `reports an unreadable file`() throws {
        let path = folder.write([1], to: "file")
        try shell("chmod", "000", path)

        let error = #expect(throws: CoderError.self) { try ImageSource(path: path) }

        #expect(error?.code == .inputOutput)
        #expect(error?.hint == "check its permissions")
    }

    @Test(
        arguments: [
            ("a.PNG", "png"), ("/x/y.tar.gz", "gz"), ("/x.y/z", nil), (".hidden", nil), ("a.", ""), ("", nil),
            ("/", nil),
        ] as [(String, String?)]) func `has the extension of its name`(name: String, suffix: String?)
    {
        #expect(ImageSource([], name: name).fileExtension == suffix)
    }

    @Test func `can be read by many threads while it grows`() throws {
        let size = 100_000
        let source = try ImageSource(growingTo: size)
        let reads = RelaxedCounter()
        let wrong = RelaxedCounter()
        let group = DispatchGroup()
        for _ in 0..<4 {
            group.enter()
            Thread.detachNewThread {
                while !source.isComplete {
                    let count = source.count
                    let start = max(0, count - 1000)
                    let bytes = source.bytes(start..<count)
                    let expected = (start..<count).map { UInt8(truncatingIfNeeded: $0) }
                    if bytes != expected { wrong.add() }
                    reads.add()
                }
                group.leave()
            }
        }
        for start in stride(from: 0, to: size, by: 5000) {
            try source.append((start..<start + 5000).map { UInt8(truncatingIfNeeded: $0) })
            // Otherwise all bytes could arrive before the first read; relaxed ordering, so that races stay visible.
            let before = reads.count
            while reads.count < before + 8 { usleep(20) }
        }
        source.finish()
        group.wait()

        #expect(source.count == size)
        #expect(wrong.count == 0)
    }
}
