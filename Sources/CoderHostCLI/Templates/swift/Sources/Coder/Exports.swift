import CEntry

// The functions of entry.h. A session is an object, retained from open to close.

private func open<T: Session>(
    _ type: T.Type, _ services: UnsafePointer<cpi_services>, _ limits: UnsafePointer<cpi_limits>,
    _ options: UnsafePointer<cpi_options>?, _ session: UnsafeMutablePointer<OpaquePointer?>,
    _ place: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    do throws(Failure) {
        try check(options)
    } catch {
        return error.report(to: place)
    }
    session.pointee = OpaquePointer(Unmanaged.passRetained(type.init(services, limits)).toOpaque())
    return CPI_OK
}

private func decoder(_ session: OpaquePointer) -> Decoder {
    Unmanaged<Decoder>.fromOpaque(UnsafeRawPointer(session)).takeUnretainedValue()
}

private func encoder(_ session: OpaquePointer) -> Encoder {
    Unmanaged<Encoder>.fromOpaque(UnsafeRawPointer(session)).takeUnretainedValue()
}

// MARK: Decoding

/// Opens a decoder.
@c @implementation
public func coder_open_decoder(
    _ coder: UnsafePointer<cpi_coder>, _ services: UnsafePointer<cpi_services>, _ limits: UnsafePointer<cpi_limits>,
    _ options: UnsafePointer<cpi_options>?, _ session: UnsafeMutablePointer<OpaquePointer?>,
    _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    open(Decoder.self, services, limits, options, session, error)
}

/// Closes a decoder.
@c @implementation
public func coder_close_decoder(_ session: OpaquePointer) {
    Unmanaged<Decoder>.fromOpaque(UnsafeRawPointer(session)).release()
}

/// Passes the input.
@c @implementation
public func coder_set_source(
    _ session: OpaquePointer, _ source: UnsafePointer<cpi_source>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: .opened, error) { decoder.setSource(source) }
}

/// Reads the header.
@c @implementation
public func coder_read_header(
    _ session: OpaquePointer, _ info: UnsafeMutablePointer<cpi_image_info>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: .sourced, error) { () throws(Failure) in try decoder.readHeader(info) }
}

/// Returns one of the offered pixel formats.
@c @implementation
public func coder_offer(
    _ session: OpaquePointer, _ index: UInt32, _ offer: UnsafeMutablePointer<cpi_format_offer>,
    _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    decoder(session).call(in: [.header, .frame, .decoded], error) { offerRGBA(index, offer) }
}

/// Begins the next frame.
@c @implementation
public func coder_next_frame(
    _ session: OpaquePointer, _ frame: UnsafeMutablePointer<cpi_frame_info>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: [.header, .frame, .decoded], error) { decoder.nextFrame(frame) }
}

/// Moves to a frame.
@c @implementation
public func coder_seek_frame(
    _ session: OpaquePointer, _ index: UnsafeMutablePointer<UInt32>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: [.header, .frame, .decoded], error) { () throws(Failure) in
        try decoder.seekFrame(index.pointee)
    }
}

/// Decodes the current frame.
@c @implementation
public func coder_decode(
    _ session: OpaquePointer, _ request: UnsafePointer<cpi_decode_request>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: [.frame, .decoded], error) { () throws(Failure) in try decoder.decode(request.pointee) }
}

/// Returns the rectangle that the last decode changed.
@c @implementation
public func coder_dirty(
    _ session: OpaquePointer, _ rect: UnsafeMutablePointer<cpi_rect>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let decoder = decoder(session)
    return decoder.call(in: [.frame, .decoded], error) {
        rect.pointee = decoder.dirty
        return CPI_OK
    }
}

// MARK: Encoding

/// Opens an encoder.
@c @implementation
public func coder_open_encoder(
    _ coder: UnsafePointer<cpi_coder>, _ services: UnsafePointer<cpi_services>, _ limits: UnsafePointer<cpi_limits>,
    _ options: UnsafePointer<cpi_options>?, _ session: UnsafeMutablePointer<OpaquePointer?>,
    _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    open(Encoder.self, services, limits, options, session, error)
}

/// Closes an encoder.
@c @implementation
public func coder_close_encoder(_ session: OpaquePointer) {
    Unmanaged<Encoder>.fromOpaque(UnsafeRawPointer(session)).release()
}

/// Returns one of the accepted pixel formats.
@c @implementation
public func coder_accept(
    _ session: OpaquePointer, _ info: UnsafePointer<cpi_image_info>, _ index: UInt32,
    _ offer: UnsafeMutablePointer<cpi_format_offer>, _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    encoder(session).call(in: .opened, error) { offerRGBA(index, offer) }
}

/// Begins the output.
@c @implementation
public func coder_begin(
    _ session: OpaquePointer, _ info: UnsafePointer<cpi_image_info>, _ sink: UnsafePointer<cpi_sink>,
    _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let encoder = encoder(session)
    var facts = cpi_image_info()
    facts.size = UInt32(MemoryLayout<cpi_image_info>.size)
    take(info, into: &facts)
    return encoder.call(in: .opened, error) { () throws(Failure) in try encoder.begin(facts, sink) }
}

/// Encodes a frame.
@c @implementation
public func coder_add_frame(
    _ session: OpaquePointer, _ frame: UnsafePointer<cpi_frame_info>, _ surface: UnsafePointer<cpi_surface>,
    _ error: UnsafeMutablePointer<cpi_error>
) -> cpi_status {
    let encoder = encoder(session)
    return encoder.call(in: .begun, error) { () throws(Failure) in try encoder.addFrame(surface.pointee) }
}

/// Completes the output.
@c @implementation
public func coder_finish(_ session: OpaquePointer, _ error: UnsafeMutablePointer<cpi_error>) -> cpi_status {
    let encoder = encoder(session)
    return encoder.call(in: .framed, error) { encoder.finish() }
}
