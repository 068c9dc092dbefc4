import ImageModel
import Testing

@testable import CoderPluginKit

/// A file that is read piece by piece and records the reads.
private final class CountedFile {
    var bytes: [UInt8]
    private(set) var asked: [Range<Int>] = []
    var failure: CoderError?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func source() -> ByteSource {
        ByteSource(count: bytes.count) { [self] range throws(CoderError) in
            asked.append(range)
            if let failure { throw failure }
            return Array(bytes[range.clamped(to: 0..<bytes.count)])
        }
    }
}

private func numbers(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) } }

/// Reads up to `count` bytes into memory filled with 0xAA; returns the whole memory.
private func read(_ source: ByteSource, at offset: Int, _ count: Int) throws(CoderError) -> (Int, [UInt8]) {
    let target = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count)
    defer { unsafe target.deallocate() }
    unsafe target.initialize(repeating: 0xAA)
    let got = unsafe try source.read(at: offset, into: target)
    return unsafe (got, Array(target))
}

@Suite struct `Byte source that is read piece by piece` {
    @Test func `fetches only requested bytes and keeps none`() throws {
        let file = CountedFile(numbers(100_000))
        let source = file.source()
        var seen: [UInt8] = []
        for offset in stride(from: 0, to: 100_000, by: 4096) {
            let (count, bytes) = try read(source, at: offset, 4096)
            seen += bytes[..<count]
        }

        #expect(seen == file.bytes)
        #expect(file.asked.reduce(0) { $0 + $1.count } == 100_000)
        #expect(file.asked.allSatisfy { $0.count <= 4096 })
        #expect(!source.isContiguous)
    }

    @Test func `reads single bytes and ranges without fetching the rest`() {
        let file = CountedFile(numbers(100_000))
        let source = file.source()

        #expect(source.isComplete && source.available == 100_000)
        #expect((70_000..<70_100).map { source[$0] } == Array(file.bytes[70_000..<70_100]))
        #expect(source.bytes(3..<9) == Array(file.bytes[3..<9]))
        #expect(file.asked.reduce(0) { $0 + $1.count } < 1024)
    }

    @Test func `returns the number of bytes at the end and beyond`() throws {
        let source = CountedFile([1, 2, 3, 4, 5]).source()

        let (count, bytes) = try read(source, at: 3, 4)
        #expect(count == 2 && bytes == [4, 5, 0xAA, 0xAA])
        #expect(try read(source, at: 5, 4).0 == 0)
        #expect(try read(source, at: .max, 4).0 == 0)
    }

    @Test func `delivers fewer bytes if the file became shorter`() throws {
        let file = CountedFile(numbers(100))
        let source = file.source()
        file.bytes.removeLast(40)

        #expect(try read(source, at: 50, 20) == (10, Array(file.bytes[50...]) + Array(repeating: 0xAA, count: 10)))
        #expect(try read(source, at: 60, 20).0 == 0)
    }

    @Test func `reports a failed read`() {
        let file = CountedFile(numbers(100))
        let source = file.source()
        let failure = CoderError(.inputOutput, "the disk was removed")
        file.failure = failure

        #expect(throws: failure) { _ = try read(source, at: 0, 20) }
    }

    @Test func `becomes contiguous for a library that needs it`() throws {
        let file = CountedFile(numbers(1000))
        let source = file.source()

        let base = unsafe source.baseAddress
        let copy = unsafe Array(UnsafeBufferPointer(start: base, count: 1000))
        #expect(copy == file.bytes)
        #expect(source.isContiguous)
        let (count, bytes) = try read(source, at: 990, 20)
        #expect(count == 10 && bytes[..<10] == file.bytes[990...])
        #expect(file.asked == [0..<1000])
    }

    @Test func `delivers bytes that arrive after it became contiguous`() throws {
        let bytes = numbers(100)
        let host = FakeSource(bytes, available: 40, isReader: true)
        let source = unsafe try ByteSource(host.lend().pointer)
        _ = unsafe source.baseAddress
        host.available = 100

        #expect(source.bytes(30..<100) == Array(bytes[30...]))
        #expect((0..<100).map { source[$0] } == bytes)
        let second = source.withBytes(39..<41) { unsafe $0.unsafeLoad(fromByteOffset: 1, as: UInt8.self) }
        #expect(second == bytes[40])
        let (count, read) = try read(source, at: 30, 80)
        #expect(count == 70 && read[..<70] == bytes[30...])
    }
}

@Suite struct `A window on a byte source` {
    @Test(arguments: [true, false]) func `holds only the bytes of its range`(isInMemory: Bool) throws {
        let bytes = numbers(10_000)
        let whole = isInMemory ? ByteSource(bytes) : CountedFile(bytes).source()
        let inner = whole.window(3000..<7000)
        let window = inner.window(500..<1500)

        #expect(window.isComplete && window.available == 1000 && window.isContiguous == isInMemory)
        #expect(window.bytes(0..<1000) == Array(bytes[3500..<4500]))
        #expect([0, 513, 999].map { window[$0] } == [bytes[3500], bytes[4013], bytes[4499]])
        let (count, read) = try read(window, at: 990, 20)
        #expect(count == 10 && read[..<10] == bytes[4490..<4500])
        let base = unsafe window.baseAddress
        #expect(unsafe Array(UnsafeBufferPointer(start: base, count: 1000)) == Array(bytes[3500..<4500]))
        #expect(inner.window(4000..<4000).available == 0)
    }

    @Test func `fetches only requested bytes`() throws {
        let file = CountedFile(numbers(100_000))
        let window = file.source().window(60_000..<90_000)
        _ = try read(window, at: 10_000, 100)
        #expect(file.asked == [70_000..<70_100])
    }

    @Test func `reports a failed read`() {
        let file = CountedFile(numbers(100))
        let window = file.source().window(10..<20)
        let failure = CoderError(.inputOutput, "the disk was removed")
        file.failure = failure
        #expect(throws: failure) { _ = try read(window, at: 0, 5) }
    }
}

@Suite struct `Byte source in memory` {
    @Test func `is contiguous and can be read like a file`() throws {
        let source = ByteSource(numbers(50), arrived: 20)

        #expect(source.isContiguous)
        let (count, bytes) = try read(source, at: 15, 10)
        #expect(count == 5 && bytes[..<5] == numbers(50)[15..<20])
        source.arrive()
        #expect(try read(source, at: 15, 10) == (10, Array(numbers(50)[15..<25])))
    }
}
