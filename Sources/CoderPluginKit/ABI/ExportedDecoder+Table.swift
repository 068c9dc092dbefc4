internal import CCoderPlugin
internal import ImageModel

/// The functions of `cpi_decoder_api`; each one finds its session and forwards the call.
extension ExportedDecoder {
    static let table = unsafe Constant(
        cpi_decoder_api(
            size: UInt32(MemoryLayout<cpi_decoder_api>.size), reserved: 0,
            open: { coder, services, limits, options, decoder, error in
                unsafe ExportedDecoder.open(coder, services, limits, options, decoder, error)
            },
            close: { decoder in
                if UInt(bitPattern: decoder) == 0 { return }
                let session = unsafe Unmanaged<ExportedDecoder>.fromOpaque(UnsafeRawPointer(decoder))
                let host = unsafe session.takeUnretainedValue().host
                unsafe session.release()
                host.settle()
            },
            set_source: { decoder, source, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    unsafe try session.setSource(ByteSource(source))
                    return CPI_OK
                }
            },
            read_header: { decoder, info, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    unsafe try copyOut(session.readHeader().raw(), to: info)
                    return CPI_OK
                }
            },
            blob: { decoder, index, blob, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    guard let found = unsafe try session.blob(Int(index)) else { return CPI_END }
                    unsafe try copyOut(found, to: blob)
                    return CPI_OK
                }
            },
            offer: { decoder, index, offer, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    guard let format = try session.offer(Int(index)) else { return CPI_END }
                    unsafe try copyOut(format.offer, to: offer)
                    return CPI_OK
                }
            },
            scaled_size: { decoder, width, height, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    if unsafe isNull(width) || isNull(height) { throw .nullArgument }
                    let wanted = unsafe PixelSize(Int(width.pointee), Int(height.pointee))
                    let size = try session.scaledSize(atLeast: wanted)
                    unsafe width.pointee = UInt32(clamping: size.width)
                    unsafe height.pointee = UInt32(clamping: size.height)
                    return CPI_OK
                }
            },
            next_frame: { decoder, frame, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    guard let found = try session.nextFrame() else { return CPI_END }
                    unsafe try copyOut(found.raw(), to: frame)
                    return CPI_OK
                }
            },
            seek_frame: { decoder, index, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    if unsafe isNull(index) { throw .nullArgument }
                    let start = unsafe try session.seek(toFrame: Int(index.pointee))
                    unsafe index.pointee = UInt32(clamping: start)
                    return CPI_OK
                }
            },
            decode: { decoder, request, error in
                unsafe call(decoder, error) { session throws(CoderError) in unsafe try session.decode(request) }
            },
            dirty: { decoder, rect, error in
                unsafe call(decoder, error) { session throws(CoderError) in
                    if unsafe isNull(rect) { throw .nullArgument }
                    unsafe rect.pointee = try session.changed().raw()
                    return CPI_OK
                }
            },
            get: { decoder, id in
                guard let session = unsafe lent(decoder, as: ExportedDecoder.self), session.hasItems,
                    unsafe isEqual(id, CPI_EXT_ITEMS)
                else { return nil }
                return unsafe UnsafeRawPointer(ExportedDecoder.itemsTable.pointer)
            }))

    @unsafe
    private static func open(
        _ coder: UnsafePointer<cpi_coder>, _ services: UnsafePointer<cpi_services>,
        _ limits: UnsafePointer<cpi_limits>, _ options: UnsafePointer<cpi_options>?,
        _ decoder: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<cpi_error>
    ) -> cpi_status {
        if unsafe isNull(decoder) { return unsafe answerMisuse(error) }
        unsafe decoder.pointee = nil
        do throws(CoderError) {
            let session = unsafe try ExportedDecoder(
                ExportedCoder.find(coder),
                options: CoderOptions(options, known: ExportedCoder.optionKeys(of: coder)),
                limits: DecodeLimits(limits),
                host: HostServices(services, memory: DecodeLimits(limits).maxDecodedBytes))
            unsafe decoder.pointee = session.lend()
            return CPI_OK
        } catch let failure {
            unsafe failure.fill(error)
            return failure.status
        }
    }
}

@unsafe
func call(
    _ decoder: OpaquePointer, _ error: UnsafeMutablePointer<cpi_error>,
    _ body: (ExportedDecoder) throws(CoderError) -> cpi_status
) -> cpi_status {
    guard let session = unsafe lent(decoder, as: ExportedDecoder.self) else { return unsafe answerMisuse(error) }
    return unsafe session.answer(error) { () throws(CoderError) in try body(session) }
}
