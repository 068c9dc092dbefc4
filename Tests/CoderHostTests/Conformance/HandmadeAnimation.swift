/// Builds animations whose every byte is chosen by the test.
enum HandmadeAnimation {
    static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    static func big(_ value: Int, _ count: Int) -> [UInt8] { little(value, count).reversed() }

    // MARK: GIF

    /// Blocks of GIF89a, sections 18 to 27; four colors: black, red, green, blue.
    enum GIF {
        static func head(_ width: Int, _ height: Int, loops: Int? = nil) -> [UInt8] {
            var bytes = Array("GIF89a".utf8) + little(width, 2) + little(height, 2) + [0x81, 0, 0]
            bytes += [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]
            if let loops { bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + little(loops, 2) + [0] }
            return bytes
        }

        /// A frame; `colors` are indices, whose codes keep the initial code size.
        static func frame(
            _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ colors: [UInt8], delay: Int = 10, disposal: UInt8 = 0,
            transparent: UInt8? = nil
        ) -> [UInt8] {
            var codes: [Int] = []
            for (index, color) in colors.enumerated() { codes += index % 2 == 0 ? [4, Int(color)] : [Int(color)] }
            return frame(x, y, width, height, codes: codes + [5], delay, disposal, transparent)
        }

        /// A frame of three-bit codes: 4 clears, 5 ends.
        static func frame(
            _ x: Int, _ y: Int, _ width: Int, _ height: Int, codes: [Int], _ delay: Int = 10, _ disposal: UInt8 = 0,
            _ transparent: UInt8? = nil
        ) -> [UInt8] {
            let flags = disposal << 2 | (transparent == nil ? 0 : 1)
            var bytes: [UInt8] = [0x21, 0xF9, 4, flags] + little(delay, 2) + [transparent ?? 0, 0]
            bytes += [0x2C] + little(x, 2) + little(y, 2) + little(width, 2) + little(height, 2) + [0, 2]
            var packed = [UInt8](repeating: 0, count: (codes.count * 3 + 7) / 8)
            for (index, code) in codes.enumerated() {
                for bit in 0..<3 where code >> bit & 1 == 1 {
                    packed[(index * 3 + bit) / 8] |= 1 << UInt8((index * 3 + bit) % 8)
                }
            }
            for start in stride(from: 0, to: packed.count, by: 255) {
                let block = packed[start..<min(start + 255, packed.count)]
                bytes += [UInt8(block.count)] + block
            }
            return bytes + [0]
        }

        static let end: [UInt8] = [0x3B]
    }

    // MARK: APNG

    /// Chunks of PNG, third edition, 11.3.6; RGBA of 8 bits in stored deflate blocks.
    enum APNG {
        static func head(_ width: Int, _ height: Int, frames: Int, plays: Int = 0, colorType: UInt8 = 6) -> [UInt8] {
            [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
                + chunk("IHDR", big(width, 4) + big(height, 4) + [8, colorType, 0, 0, 0])
                + chunk("acTL", big(frames, 4) + big(plays, 4))
        }

        static func control(
            _ number: Int, _ x: Int, _ y: Int, _ width: Int, _ height: Int, delay: (Int, Int) = (1, 10),
            disposal: UInt8 = 0, blend: UInt8 = 0
        ) -> [UInt8] {
            chunk(
                "fcTL",
                big(number, 4) + big(width, 4) + big(height, 4) + big(x, 4) + big(y, 4) + big(delay.0, 2)
                    + big(delay.1, 2) + [disposal, blend])
        }

        /// Rows of `pixel`, in IDAT without a sequence number and in fdAT with one.
        static func data(_ number: Int?, _ width: Int, _ height: Int, _ pixel: [UInt8]) -> [UInt8] {
            let row: [UInt8] = [0] + Array([[UInt8]](repeating: pixel, count: width).joined())
            let stream = stored(Array([[UInt8]](repeating: row, count: height).joined()))
            return number.map { chunk("fdAT", big($0, 4) + stream) } ?? chunk("IDAT", stream)
        }

        static let end = chunk("IEND", [])

        static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
            let body = Array(name.utf8) + data
            var crc: UInt32 = 0xFFFF_FFFF
            for byte in body {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            return big(data.count, 4) + body + big(Int(~crc), 4)
        }

        /// One stored block (RFC 1951, 3.2.4) in a zlib stream (RFC 1950).
        private static func stored(_ data: [UInt8]) -> [UInt8] {
            var (a, b) = (1, 0)
            for byte in data {
                a = (a + Int(byte)) % 65521
                b = (b + a) % 65521
            }
            return [0x78, 0x01, 1] + little(data.count, 2) + little(~data.count, 2) + data + big(b << 16 | a, 4)
        }
    }

    // MARK: WebP

    /// Chunks of RFC 9649, 2.7.
    enum WebP {
        static func chunk(_ tag: String, _ payload: [UInt8]) -> [UInt8] {
            Array(tag.utf8) + little(payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
        }

        static func file(_ width: Int, _ height: Int, loops: Int = 0, _ frames: [UInt8]) -> [UInt8] {
            let body =
                Array("WEBP".utf8) + chunk("VP8X", [0x12, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
                + chunk("ANIM", [0, 0, 0, 0] + little(loops, 2)) + frames
            return Array("RIFF".utf8) + little(body.count, 4) + body
        }

        /// A frame with the chunks of a still.
        static func frame(
            _ x: Int, _ y: Int, _ width: Int, _ height: Int, milliseconds: Int = 100, flags: UInt8 = 2,
            _ image: [UInt8]
        ) -> [UInt8] {
            chunk(
                "ANMF",
                little(x / 2, 3) + little(y / 2, 3) + little(width - 1, 3) + little(height - 1, 3)
                    + little(milliseconds, 3) + [flags] + image)
        }

        /// One color, lossless, without compression tables: five codes of a single symbol (RFC 9649, 3.7.2.1.1).
        static func solid(_ width: Int, _ height: Int, _ rgba: [UInt8]) -> [UInt8] {
            var bits: [Int] = []
            func put(_ value: Int, _ count: Int) { for bit in 0..<count { bits.append(value >> bit & 1) } }
            put(0x2F, 8)
            put(width - 1, 14)
            put(height - 1, 14)
            put(1, 1)
            // Version; no transform, no color cache, no meta codes.
            put(0, 3)
            put(0, 1)
            put(0, 1)
            put(0, 1)
            for symbol in [Int(rgba[1]), Int(rgba[0]), Int(rgba[2]), Int(rgba[3]), 0] {
                // A simple code of one symbol of eight bits.
                put(1, 1)
                put(0, 1)
                put(1, 1)
                put(symbol, 8)
            }
            while bits.count % 8 != 0 { bits.append(0) }
            return chunk(
                "VP8L",
                stride(from: 0, to: bits.count, by: 8).map { at in
                    (0..<8).reduce(UInt8(0)) { $0 | UInt8(bits[at + $1] << $1) }
                })
        }
    }
}
