/// The sentences to which checks refer, verbatim from the headers; a test compares them.
extension Rule {
    static let size = Rule(
        "coder_plugin.h", "A reader uses min(size, sizeof its own); what is missing reads as zero and means \"absent\"")
    static let flags = Rule(
        "coder_plugin.h", "unknown flags in the lower half are hints to ignore")
    static let memoryOwner = Rule("coder_plugin.h", "Memory is freed by the side that allocated it.")
    static let noEscape = Rule(
        "coder_plugin.h", "No C++ exception, longjmp or Swift error leaves one of its functions.")

    static let newValues = Rule(
        "coder_plugin.h",
        "Every other value without a definition is a fault of the plugin, which the host reports with the name of the "
            + "field; only an unknown concurrency is served.")
    static let forked = Rule(
        "coder_plugin.h",
        "It works in a process that was forked after init, with all system calls forbidden but those for memory, time "
            + "and the threads that its manifest declares (isolation.threads). It opens no file and no socket after init."
    )
    static let ownThreads = Rule(
        "coder_plugin.h",
        "It starts no threads beyond those; services->thread_hint() says how many are worth using.")
    static let guest = Rule(
        "coder_plugin.h",
        "It changes nothing that the process owns: signal handlers, locale, environment, working directory, umask, "
            + "rounding mode. It writes nothing to stdout, stderr or another descriptor.")
    static let deterministic = Rule(
        "coder_plugin.h",
        "The same input and options give the same output: bit for bit, in every process, with any number of threads.")
    static let latency = Rule(
        "coder_plugin.h",
        "It returns CPI_CANCELLED or CPI_DEADLINE within 100 ms after poll() does, so it polls every 10 ms of work.")
    static let noSharedState = Rule("coder_plugin.h", "Sessions share no mutable state, unless it is locked.")
    static let freesAll = Rule("coder_plugin.h", "close frees everything that a session holds, in every state.")
    static let bands = Rule(
        "coder_plugin.h",
        "A decode of a band that begins at row 0 starts the frame anew; decoding a frame again gives the same pixels.")

    static let statuses = Rule(
        "cpi/status.h",
        "Each function lists the statuses that it may return beside CPI_OK; the host treats any other status as a fault "
            + "of the plugin, never as success.")
    static let refused = Rule(
        "cpi/status.h",
        "a function that only cannot serve one request returns CPI_REFUSED, and the session continues as if the request "
            + "had not been made.")
    static let sticky = Rule(
        "cpi/status.h",
        "After a negative status every later call on the same session returns that status until the session is closed.")
    static let error = Rule("cpi/status.h", "A plugin fills it when it returns a negative status or CPI_REFUSED")
    static let misuse = Rule("cpi/status.h", "a call out of sequence, or NULL where it is not allowed")
    static let truncated = Rule("cpi/status.h", "the data ends too early and the source is complete")
    static let corrupt = Rule("cpi/status.h", "damaged data; the host stops and asks no other coder")
    static let notMine = Rule("cpi/status.h", "these bytes are another format: the host asks the next coder")
    static let limit = Rule("cpi/status.h", "a limit of cpi_limits would be exceeded; fill limit_*")
    static let noMemory = Rule("cpi/status.h", "an allocation failed")

    static let row = Rule(
        "cpi/image.h",
        "A plugin neither reads nor writes the bytes after the last pixel of a row: the surface may be a part of a larger "
            + "canvas.")
    static let byteCount = Rule("cpi/image.h", "bytes that may be touched from `pixels` on")
    static let imageFacts = Rule("cpi/image.h", "The facts of an image: what read_header tells the host")
    static let frameCount = Rule("cpi/image.h", "1 for a still; 0 = not known (yet)")
    static let lossy = Rule("cpi/image.h", "the data was compressed with loss")

    static let frameRect = Rule(
        "cpi/frame.h", "on the canvas; may be empty; may reach over its edges where the format allows it")
    static let frame = Rule("cpi/frame.h", "A decoder reports frames raw")
    static let duration = Rule("cpi/frame.h", "seconds, exactly as stored")

    static let source = Rule("cpi/io.h", "Input bytes. The host owns them and keeps them from set_source to close")
    static let readAt = Rule(
        "cpi/io.h", "read_at() works for every kind.")
    static let available = Rule("cpi/io.h", "`bytes` stays where it is; the first available() bytes are valid")
    static let write = Rule(
        "cpi/io.h", "CPI_OK, CPI_IO, or CPI_LIMIT when the output would exceed max_output_bytes.")
    static let blob = Rule("cpi/io.h", "Metadata, kept verbatim.")

    static let allocate = Rule("cpi/host.h", "NULL when refused: handle it.")
    static let release = Rule("cpi/host.h", "Frees what allocate returned; NULL is fine.")
    static let budget = Rule(
        "cpi/host.h", "Reports memory that a codec library takes (positive) or gives back (negative) by itself.")
    static let budgetRefused = Rule("cpi/host.h", "do not take it; return CPI_LIMIT to the host.")
    static let poll = Rule(
        "cpi/host.h",
        "Asks whether to continue. Call it every 10 ms of work or every 64 rows, whichever "
            + "comes first.")
    static let noDescriptor = Rule("cpi/host.h", "A plugin writes to no file descriptor of its own.")
    static let ownLimits = Rule(
        "cpi/host.h", "a plugin checks what only it can see (scans, nesting, its own buffers) and returns CPI_LIMIT.")
    static let metadataLimit = Rule("cpi/host.h", "max_metadata_bytes; /* each blob */")
    static let threads = Rule("cpi/host.h", "threads that a plugin may start for one session")
    static let hostGet = Rule("cpi/host.h", "NULL for every id it does not know")
    static let hostMinor = Rule("cpi/host.h", "highest minor this host knows")

    static let session = Rule(
        "cpi/decoder.h", "One-shot decoding of a still: open, set_source, read_header, next_frame, decode, close.")
    static let close = Rule(
        "cpi/decoder.h", "Ends a session in whatever state it is; the pointer is invalid afterwards.")
    static let header = Rule(
        "cpi/decoder.h", "Reads the facts of the whole image and allocates no memory for pixels.")
    static let needInput = Rule(
        "cpi/decoder.h", "CPI_NEED_INPUT is an ordinary status, and the work done so far is kept.")
    static let offer = Rule("cpi/decoder.h", "Offers pixel format number `index`, best first (0 is the native one).")
    static let offerEnd = Rule("cpi/decoder.h", "CPI_END behind the last one.")
    static let nextFrame = Rule(
        "cpi/decoder.h", "Cheap: skips pixel data that was not asked for.")
    static let seek = Rule(
        "cpi/decoder.h", "Arranges that next_frame reports frame *index, or an earlier one that has to be decoded first"
    )
    static let decode = Rule(
        "cpi/decoder.h", "Decodes the current frame into request->surface, which has an offered format.")
    static let failedOpen = Rule(
        "cpi/decoder.h", "An open that fails has freed everything; the host ignores *decoder then.")
    static let region = Rule(
        "cpi/decoder.h", "Any rectangle inside the frame with CPI_CODER_REGION; its pixels are those of the whole.")
    static let dirty = Rule("cpi/decoder.h", "Reports which part of the surface the last decode changed.")
    static let decoderGet = Rule("cpi/decoder.h", "NULL for every id it does not know; a table stays")
    static let options = Rule(
        "cpi/decoder.h", "`services` and `limits` stay valid until close, `options` only during the call.")

    static let finish = Rule("cpi/encoder.h", "Only CPI_OK means that the output is complete.")
    static let accept = Rule("cpi/encoder.h", "Reports pixel format number `index`, best first, that it takes")
    static let addBlob = Rule(
        "cpi/encoder.h", "Hands over metadata to embed; the bytes are valid only during the call.")
    static let addFrame = Rule(
        "cpi/encoder.h",
        "Encodes one frame from a surface in the agreed format; the pixels are valid only during the call.")
    static let encoder = Rule("cpi/encoder.h", "pixels to bytes, frame by frame; a whole animation is never in memory.")

    static let hasItems = Rule("cpi/image.h", "the file holds more items than this one (see items.h)")
    static let primaryItem = Rule("cpi/items.h", "the image of read_header; exactly one")
    static let itemOwner = Rule("cpi/items.h", "number of the item that this one belongs to, or CPI_ITEM_NONE")
    static let itemFacts = Rule("cpi/items.h", "Reports item number `index`, from 0, and the facts of its image.")
    static let itemEnd = Rule(
        "cpi/items.h",
        "CPI_OK, CPI_END behind the last one, CPI_NEED_INPUT, CPI_REFUSED (this one is damaged; the host warns and goes on "
            + "with the next) or an error.")
    static let itemCount = Rule("cpi/items.h", "Tells how many items there are.")
    static let selectItem = Rule("cpi/items.h", "Puts the session into [header] for item number `index`.")

    static let encodeItems = Rule("cpi/items.h", "Several stills in one output, with CPI_CODER_ENCODE_ITEMS.")
    static let nextItem = Rule(
        "cpi/items.h", "CPI_OK, CPI_REFUSED (the output holds no item of this role, or no further one; the state stays)"
    )

    static let rows = Rule("cpi/rows.h", "The output has the same bytes as with add_frame.")
    static let parallel = Rule("cpi/parallel.h", "Output must not depend on the number of threads.")
    static let sessionThread = Rule(
        "cpi/io.h", "[plugin - between set_source and close - session thread, may block]")
    static let rewritePixels = Rule("cpi/rewrite.h", "Every pixel of outcome->kept keeps its value")
    static let rewriteMetadata = Rule("cpi/rewrite.h", "metadata that the request does not name is copied")
    static let rewriteRemove = Rule("cpi/rewrite.h", "CPI_REWRITE_KIND(...) of the metadata to leave out")
    static let rewriteItems = Rule("cpi/rewrite.h", "items other than the primary one are left out")
    static let rewriteAnswer = Rule(
        "cpi/rewrite.h", "CPI_OK, CPI_REFUSED (the format cannot make one of the changes without loss) or an error.")
    static let transcode = Rule("cpi/rewrite.h", "Bit-exact transcoding")
    static let transcodeAnswer = Rule(
        "cpi/rewrite.h",
        "CPI_OK, CPI_REFUSED (this source was not packed from `format`, or cannot be packed) or an error.")

    static let unknownOption = Rule(
        "cpi/option.h",
        "With this bit a coder ignores a key that it does not know; without it, it returns CPI_INVALID_ARGUMENT.")
    static let table = Rule(
        "cpi/extension.h", "The reader refuses a table whose tag is not the hash of the id it asked for")
    static let extensionID = Rule("cpi/plugin.h", "NULL for every id it does not know; a table stays")
    static let entry = Rule("cpi/plugin.h", "The one exported symbol; the major version is in its name.")
    static let entryFails = Rule("cpi/plugin.h", "Returns NULL and fills `error` when the plugin cannot work here.")
    static let initialize = Rule(
        "cpi/plugin.h", "Prepares what all sessions share. Exactly once, before any session, no other call in flight.")
    static let concurrency = Rule("cpi/plugin.h", "sessions are independent; one thread in each at a time")
    static let reserved = Rule("cpi/plugin.h", "must be zero")
    static let manifestEqual = Rule(
        "cpi/manifest.h", "There is exactly one in a file, and what the running plugin reports must equal it.")
    static let roles = Rule("cpi/plugin.h", "equal to the manifest's")

    // Rules from the documentation instead of a header.
    static let signatures = Rule(
        "CoderHost.docc/Manifest.md",
        "any of them; a format without one is recognized by the ending of a file's name")
    static let carries = Rule("CoderHost.docc/Manifest.md", "what the encoder can carry")
    static let hygiene = Rule(
        "CoderHost.docc/CheckingAPlugin.md",
        "A plugin is a guest in somebody else's process: it leaves the process as "
            + "it found it.")
    static let image = Rule(
        "CoderHost.docc/CheckingAPlugin.md",
        "A plugin file needs neither an executable stack nor memory that is writable "
            + "and executable, and its code is not changed when it is loaded.")
    static let sealed = Rule(
        "CoderHost.docc/CheckingAPlugin.md",
        "In a sealed process of its own a plugin gives the same bytes, without files, "
            + "sockets and other processes.")
    /// All rules, for comparison with the headers.
    static let every: [Rule] = [
        .size, .flags, .memoryOwner, .noEscape, .sticky, .error, .misuse, .truncated, .corrupt, .notMine, .limit,
        .noMemory, .row, .byteCount, .imageFacts, .frameCount, .lossy, .frameRect, .frame, .duration, .source,
        .readAt, .available, .write, .blob, .allocate, .release, .budget, .budgetRefused, .poll, .noDescriptor,
        .ownLimits, .metadataLimit, .threads, .hostMinor, .session, .close, .header, .needInput, .offer, .offerEnd,
        .nextFrame,
        .seek, .decode, .decoderGet, .options, .finish, .accept, .addBlob, .addFrame, .encoder, .unknownOption,
        .table, .extensionID, .entry, .entryFails, .initialize, .hostGet, .concurrency, .reserved, .manifestEqual,
        .roles, .signatures, .carries, .hygiene, .image, .sealed, .latency, .newValues, .forked,
        .ownThreads, .guest, .deterministic, .noSharedState, .freesAll, .bands, .statuses, .refused, .failedOpen,
        .region, .dirty, .encodeItems, .nextItem, .rows, .parallel, .sessionThread, .rewritePixels, .rewriteMetadata,
        .rewriteRemove,
        .rewriteItems,
        .rewriteAnswer, .transcode, .transcodeAnswer,
    ]
}
