import TestSupport

extension [UInt8] {
    /// Returns a copy with one to four bytes changed, removed or inserted, or with its end cut off.
    ///
    /// - Parameter special: byte values with a meaning in the format.
    func mutated(_ special: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = self
        for _ in 0..<Int.random(in: 1...4, using: &random) where bytes.count > 8 {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(special[Int.random(in: 0..<special.count, using: &random)], at: place)
            case 4: bytes[place] = special[Int.random(in: 0..<special.count, using: &random)]
            default: if Int.random(in: 0..<4, using: &random) == 0 { bytes.removeSubrange(place...) }
            }
        }
        return bytes
    }
}
