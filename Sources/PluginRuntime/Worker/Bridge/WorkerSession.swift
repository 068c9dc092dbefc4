import CCoderPlugin
import CIsolationWire
import HostSystem
import ImageModel
import ImageProcessing

/// A leased worker with the common parts of its requests.
///
/// - Concurrency: one thread at a time.
final class WorkerSession {
    let worker: Worker
    let context: SessionContext
    private let slots: WorkerSlots
    private let source: ImageSource?
    var sink: PluginSink?

    init(_ worker: Worker, _ slots: WorkerSlots, _ context: SessionContext, source: ImageSource?) {
        self.worker = worker
        self.slots = slots
        self.context = context
        self.source = source
    }

    deinit {
        if worker.isUsable, worker.mayServeAgain {
            // The limits end a plugin that hangs here.
            var limits = DecodeLimits()
            limits.maxMilliseconds = 1000
            _ = try? worker.call(ISO_CLOSE, wireBytes(input), SessionContext(limits: limits))
        }
        RefusedCalls.note(worker.page.refused)
        worker.plugin.giveBack(worker)
        slots.giveBack()
    }

    /// The available input.
    var input: iso_input {
        var input = iso_input()
        // Read `isComplete` first: otherwise a source that finishes in between looks truncated.
        input.complete = source?.isComplete == true ? 1 : 0
        input.available = UInt64(source?.count ?? 0)
        return input
    }

    /// Sends a request; stores the plugin's error in `error`.
    func ask(
        _ type: Int32, _ body: [UInt8], descriptors: [Int32] = [], _ error: inout cpi_error
    ) throws(CoderError) -> Worker.Reply {
        let reply = try worker.call(type, body, descriptors: descriptors, context, sink: sink)
        error = reply.head.error
        return reply
    }

    /// Returns a shared-memory surface for a place: its buffer, or a copy.
    func surface(_ place: CanvasPlace, copying: Bool) throws(CoderError) -> BorrowedSurface {
        try BorrowedSurface(place, worker.plugin.surfaces, copying: copying)
    }

    /// Opens a session in the plugin.
    ///
    /// - Returns: The optional functions of the coder as `ISO_HAS_…`, and the header if a decoder is opened for a
    ///   complete source.
    @discardableResult
    func open(_ type: Int32, coder id: String) throws(CoderError) -> (optional: UInt32, header: Worker.Reply?) {
        let (open, descriptors) = try opening(coder: id)
        var request = open.request
        request.reads_header = type == ISO_OPEN_DECODER && request.input.complete != 0 ? 1 : 0
        var call = ContractCall()
        let reply = try ask(
            type, wireBytes(request, WireOptions.bytes(of: context)), descriptors: descriptors, &call.error)
        if reply.head.opened != 0, request.reads_header != 0 { return (open.optional, reply) }
        if let failure = call.failure(reply.head.status, of: "open or set_source", coder: id) { throw failure }
        return (open.optional, nil)
    }

    /// Returns the common part of all opening requests, and the descriptor of the input.
    func opening(
        coder id: String
    ) throws(CoderError) -> (open: (request: iso_open, optional: UInt32), descriptors: [Int32]) {
        let coders = worker.zygote.facts.coders
        guard let index = coders.firstIndex(where: { $0.id == id }) else {
            throw CoderError(.pluginFault, "the plugin has no coder \(id)")
        }
        var request = iso_open()
        request.input = input
        request.coder = UInt32(index)
        request.thread_hint = UInt32(clamping: context.threadHint)
        request.limits = context.limits.contract
        request.option_count = UInt32(context.options.values.count)
        var descriptors: [Int32] = []
        if let source {
            let share = try source.storage.shared()
            request.source_kind = share.kind
            request.capacity = UInt64(share.capacity)
            descriptors = [share.descriptor]
            if let extensionHint = source.extensionHint { setWireText(&request.ending, extensionHint) }
        }
        return ((request, coders[index].optional), descriptors)
    }
}

/// The wire format of options.
enum WireOptions {
    static func bytes(of context: SessionContext) -> [UInt8] {
        var result: [UInt8] = []
        let choices = context.choices
        for (key, value) in context.options.values.sorted(by: { $0.key < $1.key }) {
            let parts = value.contractParts(isChoice: choices.contains(key))
            var item = iso_option()
            (item.type, item.integer, item.real) = (parts.type, parts.integer, parts.real)
            item.key_length = UInt32(key.utf8.count)
            item.length = UInt64(parts.bytes?.count ?? 0)
            result += wireBytes(item, Array(key.utf8) + [0] + (parts.bytes ?? []) + [0])
        }
        return result
    }
}
