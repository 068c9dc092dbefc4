import CEntry

/// Why a session ended: one sentence for a person, without a file name and without content.
struct Failure: Error {
    var code: cpi_status
    var message: String
    /// Byte position in the input, where it is known.
    var offset: UInt64
    /// With `CPI_LIMIT`.
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
        // A zero stays behind the text, whatever its length.
        withUnsafeMutableBytes(of: &mine.message) { $0.copyBytes(from: message.utf8.prefix($0.count - 1)) }
        if code == CPI_UNSUPPORTED {
            withUnsafeMutableBytes(of: &mine.feature) { $0.copyBytes(from: message.utf8.prefix($0.count - 1)) }
        }
        give(mine, to: place)
        return code
    }
}

/// Where a session is in the order of calls.
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

/// What both kinds of session owe their host: the order of calls, errors that stay, limits, asking whether to go on.
///
/// The object itself is a few hundred bytes of the Swift runtime's memory. Take what grows with the picture from
/// `services.allocate`, or tell `services.budget` of it.
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

    /// Every call goes through here: a session that failed repeats its failure, a call out of order fails it.
    func call(
        in states: States, _ place: UnsafeMutablePointer<cpi_error>, _ body: () throws(Failure) -> cpi_status
    ) -> cpi_status {
        do throws(Failure) {
            if let failure { throw failure }
            guard !state.isDisjoint(with: states) else { throw Failure(CPI_MISUSE, "the call is out of order") }
            return try body()
        } catch {
            // A request that is refused leaves the session as it was.
            if error.code < 0 { failure = error }
            return error.report(to: place)
        }
    }

    /// Every 64 rows: the user may have had enough, and time may be up.
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
            var failure = Failure(CPI_LIMIT, "the picture is larger than the limits allow")
            failure.limit = (id, allowed, requested)
            throw failure
        }
    }
}

/// An option of your own: its schema in the manifest, and a comparison with its key here.
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

/// Writes a struct of ours into one of the host's, which may be of another minor: only what both sides know. `size`
/// stays the reader's.
func give<T>(_ value: T, to place: UnsafeMutablePointer<T>) {
    withUnsafeBytes(of: value) { copyStruct(from: $0.baseAddress!, to: UnsafeMutableRawPointer(place)) }
}

/// The other way round: what the host's lacks stays as it is here.
func take<T>(_ place: UnsafePointer<T>, into value: inout T) {
    withUnsafeMutableBytes(of: &value) { copyStruct(from: UnsafeRawPointer(place), to: $0.baseAddress!) }
}

private func copyStruct(from: UnsafeRawPointer, to: UnsafeMutableRawPointer) {
    let count = Int(min(from.load(as: UInt32.self), to.load(as: UInt32.self)))
    if count > 4 { (to + 4).copyMemory(from: from + 4, byteCount: count - 4) }
}
