import Glibc
package import ImageModel

/// A fast checksum, to compare two images.
struct ByteSum: Hashable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ number: Int) {
        value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
        value ^= value >> 29
    }

    mutating func add(_ span: RawSpan) {
        unsafe span.withUnsafeBytes { bytes in
            var at = 0
            while at + 8 <= bytes.count {
                add(Int(truncatingIfNeeded: unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)))
                at += 8
            }
            while at < bytes.count {
                add(Int(unsafe bytes[at]))
                at += 1
            }
        }
    }

    mutating func add(_ image: PixelBuffer) {
        add(image.size.width)
        add(image.size.height)
        let count = image.size.width * image.format.bytesPerPixel
        for y in 0..<image.size.height {
            image.withRow(y) { row in add(row.extracting(0..<count)) }
        }
    }
}

extension PixelBuffer {
    /// A checksum of size and samples.
    package var byteSum: UInt64 {
        var sum = ByteSum()
        sum.add(self)
        return sum.value
    }

    /// The mean difference of 8-bit samples; nil if size or format differ.
    package func meanDifference(from other: PixelBuffer) -> Double? {
        guard size == other.size, format == other.format, format.bits == 8 else { return nil }
        let count = size.width * format.bytesPerPixel
        var sum = 0
        for y in 0..<size.height {
            sum += withRow(y) { mine in
                other.withRow(y) { theirs in
                    (0..<count).reduce(0) { sum, at in
                        let a = unsafe Int(mine.unsafeLoad(fromByteOffset: at, as: UInt8.self))
                        let b = unsafe Int(theirs.unsafeLoad(fromByteOffset: at, as: UInt8.self))
                        return sum + abs(a - b)
                    }
                }
            }
        }
        return Double(sum) / Double(max(1, count * size.height))
    }

    /// Whether alpha is below its maximum in a pixel; in every format alpha is the last sample.
    package var hasTransparentPixel: Bool {
        guard format.hasTransparency, format.numeric == .unorm else { return false }
        let (pixel, sample) = (format.bytesPerPixel, format.bytesPerSample)
        let full = (1 << format.bits) - 1
        return (0..<size.height).contains { y in
            withRow(y) { row in
                (0..<size.width).contains { x in
                    let at = (x + 1) * pixel - sample
                    let alpha =
                        unsafe sample == 1
                        ? Int(row.unsafeLoad(fromByteOffset: at, as: UInt8.self))
                        : Int(row.unsafeLoad(fromByteOffset: at, as: UInt16.self))
                    return alpha < full
                }
            }
        }
    }
}

/// Reads a whole file; empty if there is none.
package func wholeFile(_ path: String) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        if count <= 0 { return all }
        all.append(contentsOf: chunk[..<count])
    }
}

/// Opens an unnamed file with these bytes, for functions that only read files.
package func anonymousFile(_ bytes: [UInt8], closesOnExec: Bool = true) -> Int32 {
    var template = Array("/dev/shm/coderhost-fuzz-XXXXXX".utf8CString)
    if unsafe access("/dev/shm", W_OK) != 0 { template = Array("/tmp/coderhost-fuzz-XXXXXX".utf8CString) }
    let descriptor = unsafe mkstemp(&template)
    _ = fcntl(descriptor, F_SETFD, closesOnExec ? FD_CLOEXEC : 0)
    guard descriptor >= 0, unsafe unlink(template) == 0 else { fatalError("no temporary file is to be had") }
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    return descriptor
}
