import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite struct `Decoded frames while memory is short` {
    private let clock = TestClock()

    private func frame() throws -> ImageFrame {
        ImageFrame(try PixelBuffer(size: PixelSize(16, 16), format: .rgba8), duration: .milliseconds(100))
    }

    /// A pool with ten frames, and the place of a player at frame 3.
    private func pool(_ pools: FramePools) throws -> FramePool {
        var order = FrameOrder(.normal, frameCount: 10)
        for _ in 0..<3 { _ = order.advance() }
        let pool = FramePool(pools, now: { [clock] in clock.now })
        _ = pool.register(order)
        for index in 0..<10 { pool.store(try frame(), at: index) }
        #expect(pool.count == 10)
        return pool
    }

    @Test func `are reduced to the half that is needed first`() throws {
        let pools = FramePools()
        let pool = try pool(pools)

        pools.relieve(all: false)

        #expect((0..<10).filter { pool.frame(at: $0) != nil } == [3, 4, 5, 6, 7])
    }

    @Test func `are all released when it is critical, and not collected again for a while`() throws {
        let pools = FramePools()
        let (first, second) = (try pool(pools), try pool(pools))

        pools.relieve(all: true)

        #expect(first.byteCount == 0 && second.count == 0)
        first.store(try frame(), at: 3)
        #expect(first.count == 0 && !first.needs(4, bytesPerFrame: 1024))
        #expect(first.missing(bytesPerFrame: 1024, within: 10).isEmpty)
        clock.pass(milliseconds: 30_000)
        #expect(first.needs(4, bytesPerFrame: 1024))
        first.store(try frame(), at: 3)
        #expect(first.count == 1)
    }

    @Test func `do not keep a released animation alive`() throws {
        let pools = FramePools()
        var pool: FramePool? = try pool(pools)
        weak var released: FramePool?
        released = pool
        pool = nil
        #expect(released == nil)
        pools.relieve(all: true)
    }

    @Test func `are decoded again with the same pixels`() throws {
        let image = try Bench.open(`Animation cases`.five())
        try image.preloadAllFrames()
        let pixels = try image.frame(at: 3).pixels

        image.pool.relieve(all: true)

        #expect(image.pool.count == 0)
        let again = try image.frame(at: 3).pixels
        #expect(again !== pixels && again.packed == pixels.packed)
    }
}
