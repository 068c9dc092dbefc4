import CEntry

/// The error that ended a session: one sentence without file name and file content.
struct Failure: Error {
    var code: cpi_status
    var message: String
    /// The byte position in the input, if known.
    var offset: UInt64
    /// The exceeded limit, with `CPI_LIMIT`.
    var limit: (id: UInt32, allowed: UInt64, requested: UInt64) = (0, 0, 0)

    init(_ code: cpi_status, _ message: String, at offset: UInt64 = 0) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    func report(to place: UnsafeMutablePointer<cpi_error>) -> cpi_status {
        var mine = cpi_error()
        mine.size = UInt32(MemoryLayout<cpi_error>.size)
        mine.code = code
        mine.input_offset = offset
        (mine.limit_id, mine.limit_allowed, mine.limit_requested) = limit
        // The text always ends with NUL.
        withUnsafeMutableBytes(of: &mine.message) { $0.copyBytes(from: message.utf8.prefix($0.count - 1)) }
        if code == CPI_UNSUPPORTED {
            withUnsafeMutableBytes(of: &mine.feature) { $0.copyBytes(from: message.utf8.prefix($0.count - 1)) }
        }
        give(mine, to: place)
        return code
    }
}

/// The state of a session in the order of calls.
struct States: OptionSet {
    var rawValue: Int

    static let opened = States(rawValue: 1)
    static let sourced = States(rawValue: 2)
    static let header = States(rawValue: 4)
    static let frame = States(rawValue: 8)
    static let decoded = States(rawValue: 16)
    static let begun = States(rawValue: 32)
    static let framed = States(rawValue: 64)
    static let finished = States(rawValue: 128)
}

/// The common duties of both kinds of session: order of calls, sticky errors, limits, cancellation.
///
/// The object takes a few hundred bytes of the Swift heap. Allocate memory that grows with the image with
/// `services.allocate`, or report it to `services.budget`.
class Session {
    private let services: UnsafePointer<cpi_services>
    private(set) var limits = cpi_limits()
    private var failure: Failure?
    var state = States.opened

    required init(_ services: UnsafePointer<cpi_services>, _ limits: UnsafePointer<cpi_limits>) {
        self.services = services
        self.limits.size = UInt32(MemoryLayout<cpi_limits>.size)
        take(limits, into: &self.limits)
    }

    /// All calls go through this function. A failed session repeats its error; a call out of order fails the session.
    func call(
        in states: States, _ place: UnsafeMutablePointer<cpi_error>, _ body: () throws(Failure) -> cpi_status
    ) -> cpi_status {
        do throws(Failure) {
            if let failure { throw failure }
            guard !state.isDisjoint(with: states) else { throw Failure(CPI_MISUSE, "the call is out of order") }
            return try body()
        } catch {
            // A refused request does not change the session.
            if error.code < 0 { failure = error }
            return error.report(to: place)
        }
    }

    /// Call it every 64 rows: the user can cancel, and the time limit can pass.
    func askToGoOn(_ row: UInt32, of rows: UInt32) throws(Failure) {
        if row % 64 != 0 { return }
        let answer = services.pointee.poll(services.pointee.ctx)
        guard answer == CPI_CONTINUE else {
            throw Failure(answer < 0 ? answer : CPI_CANCELLED, "the host asked to stop")
        }
        services.pointee.progress(services.pointee.ctx, UInt64(row), UInt64(rows))
    }

    func checkSize(_ width: UInt32, _ height: UInt32) throws(Failure) {
        let (width, height) = (UInt64(width), UInt64(height))
        for (id, allowed, requested) in [
            (CPI_LIMIT_WIDTH, UInt64(limits.max_width), width), (CPI_LIMIT_HEIGHT, UInt64(limits.max_height), height),
            (CPI_LIMIT_PIXELS, limits.max_pixels, width * height),
        ] where allowed != 0 && requested > allowed {
            var failure = Failure(CPI_LIMIT, "the image is larger than the limits allow")
            failure.limit = (id, allowed, requested)
            throw failure
        }
    }
}

/// For your own options, add a schema to the manifest and compare the key here.
func check(_ options: UnsafePointer<cpi_options>?) throws(Failure) {
    guard let options = options?.pointee, let items = options.items else { return }
    for index in 0..<UInt64(options.count) {
        let place = UnsafeRawPointer(items) + Int(index * options.stride)
        let option = place.assumingMemoryBound(to: cpi_option.self)
        if option.pointee.flags & CPI_OPTION_HINT == 0 {
            throw Failure(CPI_INVALID_ARGUMENT, "there is no option \(String(cString: option.pointee.key).prefix(64))")
        }
    }
}

/// Copies a plugin struct to a host struct. The host may have another minor version, so only the fields that both sides
/// know are copied. `size` keeps the host's value.
func give<T>(_ value: T, to place: UnsafeMutablePointer<T>) {
    withUnsafeBytes(of: value) { copyStruct(from: $0.baseAddress!, to: UnsafeMutableRawPointer(place)) }
}

/// Copies a host struct to a plugin struct; fields that the host lacks keep their values.
func take<T>(_ place: UnsafePointer<T>, into value: inout T) {
    withUnsafeMutableBytes(of: &value) { copyStruct(from: UnsafeRawPointer(place), to: $0.baseAddress!) }
}

private func copyStruct(from: UnsafeRawPointer, to: UnsafeMutableRawPointer) {
    let count = Int(min(from.load(as: UInt32.self), to.load(as: UInt32.self)))
    if count > 4 { (to + 4).copyMemory(from: from + 4, byteCount: count - 4) }
}
