import Foundation
import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `Color transform cache` {
    @Test func `gives the same transform again`() throws {
        let cache = ColorTransformCache()
        let first = try cache.transform(from: .displayP3, .rgb8, to: .sRGB, .rgb8)
        #expect(try cache.transform(from: .displayP3, .rgb8, to: .sRGB, .rgb8) === first)
        #expect(try cache.transform(from: .displayP3, .rgba8, to: .sRGB, .rgba8) !== first)
        #expect(cache.statistics == (1, 2))
    }

    @Test func `distinguishes profiles by their bytes and tone mappings by their values`() throws {
        let cache = ColorTransformCache()
        let a = try cache.transform(from: colorFixture("adobe-rgb.icc"), .rgb8, to: .sRGB, .rgb8)
        let b = try cache.transform(from: colorFixture("display-p3-sampled.icc"), .rgb8, to: .sRGB, .rgb8)
        #expect(a !== b)
        let pq = ColorProfile.codePoints(CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true))
        let c = try cache.transform(from: pq, .rgb8, to: .sRGB, .rgb8)
        let d = try cache.transform(from: pq, .rgb8, to: .sRGB, .rgb8, toneMapping: ToneMapping(peak: 4000))
        #expect(c !== d)
    }

    @Test func `drops the least recently used transform`() throws {
        let cache = ColorTransformCache(maxCount: 2)
        let first = try cache.transform(from: .displayP3, .rgb8, to: .sRGB, .rgb8)
        _ = try cache.transform(from: .displayP3, .rgba8, to: .sRGB, .rgba8)
        #expect(try cache.transform(from: .displayP3, .rgb8, to: .sRGB, .rgb8) === first)
        _ = try cache.transform(from: .displayP3, .bgra8, to: .sRGB, .bgra8)
        #expect(try cache.transform(from: .displayP3, .rgb8, to: .sRGB, .rgb8) === first)
        #expect(cache.statistics.misses == 3)
        _ = try cache.transform(from: .displayP3, .rgba8, to: .sRGB, .rgba8)
        #expect(cache.statistics.misses == 4)
    }

    @Test func `limits the bytes of kept profiles`() throws {
        let cache = ColorTransformCache(maxBytes: 600)
        let small = try cache.transform(from: colorFixture("adobe-rgb.icc"), .rgb8, to: .sRGB, .rgb8)
        // Larger than the cache: used but not kept, and no other entry is dropped.
        _ = try cache.transform(from: colorFixture("cmyk-table.icc"), .cmyk8, to: .sRGB, .rgb8)
        #expect(try cache.transform(from: colorFixture("adobe-rgb.icc"), .rgb8, to: .sRGB, .rgb8) === small)
        #expect(cache.statistics == (1, 2))
    }

    @Test func `keeps the transform of a damaged profile`() throws {
        let cache = ColorTransformCache()
        let first = try cache.transform(from: .icc([1, 2, 3]), .rgb8, to: .sRGB, .rgb8)
        #expect(first.warning != nil)
        #expect(try cache.transform(from: .icc([1, 2, 3]), .rgb8, to: .sRGB, .rgb8) === first)
    }

    @Test(arguments: ["adobe-rgb.icc", "rgb-table.icc"])
    func `serves many threads at once`(name: String) throws {
        let cache = ColorTransformCache(maxCount: 2)
        let pixels = (0..<3 * 700).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let expected = try ColorTransform(from: colorFixture(name), .rgb8, to: .sRGB, .rgb8).bytes(pixels)
        let profile = colorFixture(name)
        DispatchQueue.concurrentPerform(iterations: 16) { index in
            // Every third transform evicts the others.
            if index % 3 == 0 { _ = try? cache.transform(from: .displayP3, .rgba16, to: .sRGB, .rgba8) }
            let transform = try? cache.transform(from: profile, .rgb8, to: .sRGB, .rgb8)
            #expect(transform?.bytes(pixels) == expected)
        }
    }
}
