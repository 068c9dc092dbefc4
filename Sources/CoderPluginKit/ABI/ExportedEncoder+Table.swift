internal import CCoderPlugin
internal import ImageModel

/// The functions of `cpi_encoder_api`; each one finds its session and forwards the call.
extension ExportedEncoder {
    static let table = unsafe Constant(
        cpi_encoder_api(
            size: UInt32(MemoryLayout<cpi_encoder_api>.size), reserved: 0,
            open: { coder, services, limits, options, encoder, error in
                unsafe ExportedEncoder.open(coder, services, limits, options, encoder, error)
            },
            close: { encoder in
                if UInt(bitPattern: encoder) == 0 { return }
                let session = unsafe Unmanaged<ExportedEncoder>.fromOpaque(UnsafeRawPointer(encoder))
                let host = unsafe session.takeUnretainedValue().host
                unsafe session.release()
                host.settle()
            },
            accept: { encoder, info, index, offer, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    guard let format = unsafe try session.accept(ImageInfo(info), Int(index)) else { return CPI_END }
                    unsafe try copyOut(format.offer, to: offer)
                    return CPI_OK
                }
            },
            begin: { encoder, info, sink, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.begin(ImageInfo(info), to: ByteSink(sink))
                    return CPI_OK
                }
            },
            add_blob: { encoder, blob, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.add(blob)
                    return CPI_OK
                }
            },
            add_frame: { encoder, frame, surface, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.add(FrameInfo(frame), Surface(surface))
                    return CPI_OK
                }
            },
            finish: { encoder, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    try session.finish()
                    return CPI_OK
                }
            },
            get: { encoder, id in
                unsafe lent(encoder, as: ExportedEncoder.self)?.table(id)
            }))

    static let rowsTable = unsafe Constant(
        cpi_encode_rows_api(
            table: cpi_table(
                size: UInt32(MemoryLayout<cpi_encode_rows_api>.size), rev: 1, tag: cpi_tag(CPI_EXT_ENCODE_ROWS)),
            begin_rows: { encoder, frame, rows, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    if unsafe isNull(rows) { throw .nullArgument }
                    unsafe rows.pointee = try UInt32(clamping: session.beginRows(FrameInfo(frame)))
                    return CPI_OK
                }
            },
            add_rows: { encoder, rows, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.addRows(Surface(rows))
                    return CPI_OK
                }
            }))

    static let itemsTable = unsafe Constant(
        cpi_encode_items_api(
            table: cpi_table(
                size: UInt32(MemoryLayout<cpi_encode_items_api>.size), rev: 1, tag: cpi_tag(CPI_EXT_ENCODE_ITEMS)),
            next_item: { encoder, item, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.nextItem(item)
                    return CPI_OK
                }
            }))

    static let thumbnailTable = unsafe Constant(
        cpi_thumbnail_encode_api(
            table: cpi_table(
                size: UInt32(MemoryLayout<cpi_thumbnail_encode_api>.size), rev: 1,
                tag: cpi_tag(CPI_EXT_THUMBNAIL_ENCODE)),
            add: { encoder, surface, error in
                unsafe call(encoder, error) { session throws(CoderError) in
                    unsafe try session.addThumbnail(Surface(surface))
                    return CPI_OK
                }
            }))

    @unsafe
    private static func open(
        _ coder: UnsafePointer<cpi_coder>, _ services: UnsafePointer<cpi_services>,
        _ limits: UnsafePointer<cpi_limits>, _ options: UnsafePointer<cpi_options>?,
        _ encoder: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<cpi_error>
    ) -> cpi_status {
        if unsafe isNull(encoder) { return unsafe answerMisuse(error) }
        unsafe encoder.pointee = nil
        do throws(CoderError) {
            let session = unsafe try EncoderSession(
                options: CoderOptions(options, known: ExportedCoder.optionKeys(of: coder)),
                limits: DecodeLimits(limits),
                host: HostServices(services, memory: DecodeLimits(limits).maxDecodedBytes))
            unsafe encoder.pointee = try ExportedEncoder(ExportedCoder.find(coder), session: session).lend()
            return CPI_OK
        } catch let failure {
            unsafe failure.fill(error)
            return failure.status
        }
    }
}

@unsafe
private func call(
    _ encoder: OpaquePointer, _ error: UnsafeMutablePointer<cpi_error>,
    _ body: (ExportedEncoder) throws(CoderError) -> cpi_status
) -> cpi_status {
    guard let session = unsafe lent(encoder, as: ExportedEncoder.self) else { return unsafe answerMisuse(error) }
    return unsafe session.answer(error) { () throws(CoderError) in try body(session) }
}
