import CoderHost
import ImageModel

extension ImageSource {
    /// Applies decryptors, one after the other.
    ///
    /// - Throws: `.corrupt` if one of them returns nil or no bytes.
    func decrypted(by decryptors: [Decryptor?], _ facts: ResponseFacts) throws(CoderError) -> ImageSource {
        var result = self
        for case let decryptor? in decryptors {
            guard let bytes = decryptor(result.bytes(0..<result.count), facts), !bytes.isEmpty else {
                throw CoderError(.corrupt, "the loaded bytes cannot be decrypted")
            }
            result = ImageSource(bytes, name: name, origin: origin)
        }
        return result
    }

    /// Applies the request's decryptor to bytes that do not come from a server.
    func decrypted(for request: ImageRequest) throws(CoderError) -> ImageSource {
        try decrypted(
            by: [request.options.request.decryptor], ResponseFacts(url: request.url, status: 200, headers: [:]))
    }
}
