import FoundationEssentials
import ImageModel

/// Modifiers that applications often need.
public enum RequestModifiers {
    /// Sends more fields.
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

    /// Sends another method, with a body if there is one.
    public static func method(_ method: String, body: [UInt8]? = nil) -> RequestModifier {
        { request in
            var request = request
            request.method = method
            request.body = body
            return request
        }
    }
}

/// Modifiers of answers that applications often need.
public enum ResponseModifiers {
    /// Puts other fields in.
    public static func headers(_ fields: [String: String]) -> ResponseModifier {
        { response in
            var response = response
            for (name, value) in fields { response.headers[name.lowercased()] = value }
            return response
        }
    }

    /// Another status.
    public static func status(_ status: Int) -> ResponseModifier {
        { response in
            var response = response
            response.status = status
            return response
        }
    }
}

/// Decryptors that applications often need.
public enum Decryptors {
    /// Bytes that were sent as Base64; white space does not count.
    ///
    /// - Source: RFC 4648 §4.
    public static let base64: Decryptor = { bytes, _ in Base64.decoded(bytes) }
}

/// Bytes written with 64 characters.
enum Base64 {
    /// nil where something else than white space is in between.
    static func decoded(_ bytes: [UInt8]) -> [UInt8]? {
        let digits = bytes.filter { ![9, 10, 13, 32].contains($0) }
        return Data(base64Encoded: Data(digits)).map { Array($0) }
    }
}
