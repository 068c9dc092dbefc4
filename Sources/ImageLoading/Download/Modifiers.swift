import ImageModel

/// A request before it is sent.
public struct OutgoingRequest: Sendable, Hashable {
    /// The URL.
    public var url: String
    /// The HTTP method.
    public var method: String
    /// The header fields.
    public var headers: [String: String]
    /// The body; nil for none.
    public var body: [UInt8]?

    package init(url: String, method: String = "GET", headers: [String: String] = [:], body: [UInt8]? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }
}

/// Changes a request before it is sent; returns nil to refuse it.
public typealias RequestModifier = @Sendable (OutgoingRequest) -> OutgoingRequest?
/// Changes a response before it is checked; returns nil to refuse it.
public typealias ResponseModifier = @Sendable (ResponseFacts) -> ResponseFacts?
/// Decrypts the bytes of a complete download; returns nil if they are invalid.
public typealias Decryptor = @Sendable (_ bytes: [UInt8], _ response: ResponseFacts) -> [UInt8]?

/// User and password for servers that answer 401.
public struct Credential: Sendable, Hashable {
    /// The user name.
    package var user: String
    /// The password.
    package var password: String

    /// Creates a credential.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}
