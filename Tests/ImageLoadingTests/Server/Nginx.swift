import Foundation
import LoadingTestSupport
import TestSupport

/// A local nginx, if it is installed.
///
/// It is an independent implementation of HTTP, so it finds errors that ``TestServer`` would share with the downloader.
final class Nginx: Sendable {
    static let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    let place: TemporaryDirectory
    let port: Int
    let securePort: Int
    private let process: Process
    /// nginx ends when this pipe closes, so it also ends with the test process.
    private let life = Pipe()

    /// Serves `files` from `/`, slowly from `/slow/`, compressed and chunked from `/gzip/`, and with a password from
    /// `/secret/`.
    init(_ files: [String: [UInt8]]) async throws {
        let place = TemporaryDirectory()
        self.place = place
        place.folder("files")
        for (name, bytes) in files { place.write(bytes, to: "files/\(name)") }
        place.write(Array("joe:{PLAIN}open sesame\n".utf8), to: "users")
        // Ports that were free a moment ago.
        (port, securePort) = (try await Self.freePort(), try await Self.freePort())
        place.write(Array(Self.configuration(place.path, port, securePort).utf8), to: "nginx.conf")
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
            "-c", #""$0" "$@" & read line; kill -9 $!"#, Self.program!, "-p", place.path, "-c",
            place.file("nginx.conf"), "-e", place.file("errors"),
        ]
        process.standardInput = life
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// The fatal error that nginx has logged; nil if there is none.
    var complaint: String? {
        readFile(place.file("errors")).map { String(decoding: $0, as: UTF8.self) }.flatMap {
            $0.contains("[emerg]") ? $0 : nil
        }
    }

    func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }
    func secureURL(_ path: String, host: String) -> String { "https://\(host):\(securePort)\(path)" }

    /// Replaces a file.
    func write(_ bytes: [UInt8], to name: String) { place.write(bytes, to: "files/\(name)") }

    func stop() { try? life.fileHandleForWriting.close() }

    private static func freePort() async throws -> Int {
        let server = try await TestServer.start()
        await server.stop()
        return server.port
    }

    private static func configuration(_ place: String, _ port: Int, _ securePort: Int) -> String {
        """
        daemon off; master_process off; pid \(place)/pid; error_log \(place)/errors;
        events { worker_connections 1000; }
        http {
            access_log off; types { image/jpeg jpg; image/x-portable-pixmap ppm; } keepalive_requests 100000;
            client_body_temp_path \(place)/t1; proxy_temp_path \(place)/t2; fastcgi_temp_path \(place)/t3;
            uwsgi_temp_path \(place)/t4; scgi_temp_path \(place)/t5;
            server {
                listen 127.0.0.1:\(port); listen 127.0.0.1:\(securePort) ssl;
                ssl_certificate \(Repository.fixture("server/certificate.pem"));
                ssl_certificate_key \(Repository.fixture("server/key.pem"));
                root \(place)/files;
                location /slow/ { alias \(place)/files/; limit_rate 1m; }
                location /gzip/ { alias \(place)/files/; gzip on; gzip_types *; gzip_min_length 1; }
                location /secret/ { alias \(place)/files/; auth_basic secret; auth_basic_user_file \(place)/users; }
                location = /away { return 302 /slow/../photo.ppm; }
                location = /loop { return 307 /loop; }
                location = /busy { return 503; }
            }
        }
        """
    }
}
