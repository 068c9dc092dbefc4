import ImageModel

/// A request as it goes to a server.
public struct OutgoingRequest: Sendable, Hashable {
    public var url: String
    public var method: String
    public var headers: [String: String]
    public var body: [UInt8]?

    public init(url: String, method: String = "GET", headers: [String: String] = [:], body: [UInt8]? = nil) {
        self.url = url
        self.method = method
        self.headers = headers
        self.body = body
    }
}

/// Changes a request before it is sent; nil refuses it.
public typealias RequestModifier = @Sendable (OutgoingRequest) -> OutgoingRequest?
/// Changes what a server said before it is judged; nil refuses it.
public typealias ResponseModifier = @Sendable (ResponseFacts) -> ResponseFacts?
/// Turns the bytes of a transfer into those of a picture; nil says that they are bad. Nothing is decoded before.
public typealias Decryptor = @Sendable (_ bytes: [UInt8], _ response: ResponseFacts) -> [UInt8]?

/// What a server asks for with 401.
public struct Credential: Sendable, Hashable {
    public var user: String
    public var password: String

    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}
