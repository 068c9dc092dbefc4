import TestSupport
import Testing

@testable import CoderHost

/// The hash of a file as it is now.
func contentHash(of path: String) throws -> ContentHash {
    let bytes = try #require(readFile(path))
    return try #require(ContentHash(hex: SHA256.hexDigest(of: bytes)))
}
