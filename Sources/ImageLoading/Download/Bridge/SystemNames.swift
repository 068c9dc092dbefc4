import Glibc
import ImageModel

/// Host names that the system resolves.
enum SystemNames {
    /// Resolves a host with `getaddrinfo`; may block for minutes.
    static func lookUp(_ host: String) -> Result<[IPAddress], CoderError> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            let reason = unsafe String(cString: gai_strerror(status))
            var error = CoderError(.transferFailed, "the host has no address: \(reason)", hint: "check the name")
            error.isTransient = true
            return .failure(error)
        }
        defer { unsafe freeaddrinfo(list) }
        var result: [IPAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            if let address = unsafe address(entry.pointee), !result.contains(address) { result.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return .success(result)
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let place = unsafe entry.ai_addr else { return nil }
        switch unsafe entry.ai_family {
        case AF_INET:
            let socket = unsafe UnsafeRawPointer(place).loadUnaligned(as: sockaddr_in.self)
            return IPAddress(v4: UInt32(bigEndian: socket.sin_addr.s_addr))
        case AF_INET6:
            var socket = unsafe UnsafeRawPointer(place).loadUnaligned(as: sockaddr_in6.self)
            return unsafe withUnsafeBytes(of: &socket.sin6_addr) { unsafe IPAddress(bytes: Array($0)) }
        default: return nil
        }
    }
}
