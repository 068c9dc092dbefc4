import CoderHost
import ImageModel

extension ImageSource {
    /// What decryptors make of it, one after the other.
    ///
    /// - Throws: `.corrupt` where one says that the bytes are bad.
    func decrypted(by decryptors: [Decryptor?], _ facts: ResponseFacts) throws(CoderError) -> ImageSource {
        var result = self
        for case let decryptor? in decryptors {
            guard let bytes = decryptor(result.bytes(0..<result.count), facts), !bytes.isEmpty else {
                throw CoderError(.corrupt, "what was loaded cannot be decrypted")
            }
            result = ImageSource(bytes, name: name, origin: origin)
        }
        return result
    }

    /// What no server has sent, for a request.
    func decrypted(for request: ImageRequest) throws(CoderError) -> ImageSource {
        try decrypted(
            by: [request.options.decryptor], ResponseFacts(url: request.url, status: 200, headers: [:]))
    }
}
