import TestSupport
import Testing

@testable import CoderHost

/// Returns the current hash of a file.
func contentHash(of path: String) throws -> ContentHash {
    let bytes = try #require(readFile(path))
    return try #require(ContentHash(hex: SHA256.hexDigest(of: bytes)))
}
