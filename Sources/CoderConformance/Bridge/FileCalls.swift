import CCoderPlugin

/// The result of a rewrite or transcoding.
struct FileOutcome {
    var answer: Answer
    var bytes: [UInt8]
    /// After a rewrite: the part of the image in the output.
    var kept = cpi_rect()
    var droppedItems = false
    /// A description of a value that the header does not define.
    var odd: String?
}

/// The changes to request from a rewrite.
struct FileChange {
    var flags: UInt32 = 0
    /// The kinds of metadata to remove.
    var removed: [UInt32] = []
    var blob: Blob?
}

extension Subject {
    /// Rewrites a file; returns nil if the plugin has no table for it.
    func rewrite(_ coder: Coder, _ bytes: [UInt8], _ change: FileChange = FileChange()) -> FileOutcome? {
        let least = MemoryLayout<cpi_rewrite_api>.size
        guard let api = table(CPI_EXT_REWRITE, as: cpi_rewrite_api.self, least: least) else { return nil }
        let outcome = GuardedStruct(cpi_rewrite_outcome(), isAnswer: true)
        let payload = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, change.blob?.bytes.count ?? 0))
        _ = unsafe payload.initialize(from: change.blob?.bytes ?? [])
        defer { unsafe payload.deallocate() }
        var result = unsafe (change.blob?.key ?? "").withCString { key in
            let blob = unsafe GuardedStruct(
                cpi_blob(
                    size: 0, kind: change.blob?.kind ?? 0, key: change.blob?.key == nil ? nil : key,
                    bytes: UnsafePointer(payload.baseAddress), length: UInt64(change.blob?.bytes.count ?? 0)))
            var request = unsafe cpi_rewrite_request()
            unsafe request.flags = change.flags
            unsafe request.remove = change.removed.reduce(0) { $0 | 1 << $1 }
            if change.blob != nil {
                unsafe request.blobs = UnsafePointer(blob.pointer)
                unsafe request.blob_stride = UInt64(MemoryLayout<cpi_blob>.stride)
                unsafe request.blob_count = 1
            }
            let lent = unsafe GuardedStruct(request)
            return unsafe call("rewrite", coder, bytes) { services, source, sink, error in
                unsafe api.rewrite(
                    coder.pointer, services.pointer, services.limitsPointer, nil, UnsafePointer(lent.pointer),
                    source.pointer, sink.pointer, outcome.pointer, error)
            }
        }
        result.kept = outcome.value.kept
        result.odd = Values.objection(outcome.value)
        result.droppedItems = outcome.value.flags & CPI_REWRITE_DROPPED_ITEMS != 0
        return result
    }

    /// Packs a stream or restores the original; returns nil if the plugin has no table for it.
    func transcode(_ coder: Coder, _ bytes: [UInt8], _ direction: UInt32, _ format: String) -> FileOutcome? {
        let least = MemoryLayout<cpi_transcode_api>.size
        guard let api = table(CPI_EXT_TRANSCODE, as: cpi_transcode_api.self, least: least) else { return nil }
        return unsafe call("transcode", coder, bytes) { services, source, sink, error in
            unsafe api.transcode(
                coder.pointer, services.pointer, services.limitsPointer, nil, direction, format, source.pointer,
                sink.pointer, error)
        }
    }

    private func call(
        _ name: String, _ coder: Coder, _ bytes: [UInt8],
        _ body: (Services, Input, Output, UnsafeMutablePointer<cpi_error>) -> cpi_status
    ) -> FileOutcome {
        let services = Services(limits: DecodeSetup.roomyLimits)
        let (source, sink) = (Input(bytes), Output())
        source.name(endingIn: coder.ending)
        let error = GuardedStruct(cpi_error(), isAnswer: true)
        board.call = name
        let status = unsafe body(services, source, sink, error.pointer)
        board.call = ""
        services.close()
        var answer = Answer(call: name, status: status)
        if status < 0 || status == CPI_REFUSED {
            answer.code = error.value.code
            answer.message = fixedText(error.value.message).text
        }
        return FileOutcome(answer: answer, bytes: sink.bytes)
    }
}
