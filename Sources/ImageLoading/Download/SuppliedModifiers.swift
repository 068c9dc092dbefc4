import FoundationEssentials
import ImageModel

/// Common request modifiers.
public enum RequestModifiers {
    /// Adds or replaces header fields.
    public static func headers(_ fields: [String: String]) -> RequestModifier {
        { request in
            var request = request
            for (name, value) in fields {
                request.headers = request.headers.filter { $0.key.lowercased() != name.lowercased() }
                request.headers[name] = value
            }
            return request
        }
    }

    /// Replaces the method and the body.
    public static func method(_ method: String, body: [UInt8]? = nil) -> RequestModifier {
        { request in
            var request = request
            request.method = method
            request.body = body
            return request
        }
    }
}

/// Common response modifiers.
public enum ResponseModifiers {
    /// Adds or replaces header fields.
    public static func headers(_ fields: [String: String]) -> ResponseModifier {
        { response in
            var response = response
            for (name, value) in fields { response.headers[name.lowercased()] = value }
            return response
        }
    }

    /// Replaces the status.
    public static func status(_ status: Int) -> ResponseModifier {
        { response in
            var response = response
            response.status = status
            return response
        }
    }
}

/// Common decryptors.
public enum Decryptors {
    /// Decodes Base64; ignores white space.
    ///
    /// - Source: RFC 4648 §4.
    public static let base64: Decryptor = { bytes, _ in Base64.decoded(bytes) }
}

/// Base64 decoding.
enum Base64 {
    /// Returns the decoded bytes, ignoring white space; nil for invalid characters.
    static func decoded(_ bytes: [UInt8]) -> [UInt8]? {
        let digits = bytes.filter { ![9, 10, 13, 32].contains($0) }
        return Data(base64Encoded: Data(digits)).map { Array($0) }
    }
}
