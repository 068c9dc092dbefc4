import CCoderPlugin

/// The contract's structs as Swift imported them: their sizes, and where their fields stand.
enum SwiftView {
    struct Struct {
        /// `type` → size and `type.field` → offset, in bytes.
        var figures: [String: Int]
    }

    static let all: [Struct] = [
        view(
            cpi_error.self,
            ("size", \.size), ("code", \.code), ("domain", \.domain), ("message", \.message),
            ("feature", \.feature), ("input_offset", \.input_offset), ("limit_id", \.limit_id),
            ("reserved", \.reserved), ("limit_allowed", \.limit_allowed), ("limit_requested", \.limit_requested)),
        view(
            cpi_rect.self,
            ("x", \.x), ("y", \.y), ("width", \.width), ("height", \.height)),
        view(
            cpi_pixel_format.self,
            ("channels", \.channels), ("numeric", \.numeric), ("bits", \.bits), ("alpha", \.alpha),
            ("reserved", \.reserved)),
        unsafe view(
            cpi_surface.self,
            ("size", \.size), ("flags", \.flags), ("format", \.format), ("width", \.width), ("height", \.height),
            ("stride", \.stride), ("pixels", \.pixels), ("byte_count", \.byte_count)),
        view(
            cpi_color.self,
            ("size", \.size), ("flags", \.flags), ("primaries", \.primaries), ("transfer", \.transfer),
            ("matrix", \.matrix), ("full_range", \.full_range), ("reserved", \.reserved)),
        view(
            cpi_image_info.self,
            ("size", \.size), ("flags", \.flags), ("width", \.width), ("height", \.height),
            ("orientation", \.orientation), ("bit_depth", \.bit_depth), ("frame_count", \.frame_count),
            ("loop_kind", \.loop_kind), ("loop_count", \.loop_count), ("native", \.native), ("color", \.color),
            ("density_unit", \.density_unit), ("density_x", \.density_x), ("density_y", \.density_y),
            ("background", \.background), ("thumbnail_count", \.thumbnail_count), ("reserved", \.reserved)),
        view(
            cpi_rational.self,
            ("numerator", \.numerator), ("denominator", \.denominator)),
        view(
            cpi_frame_info.self,
            ("size", \.size), ("flags", \.flags), ("index", \.index), ("blend", \.blend), ("disposal", \.disposal),
            ("rect", \.rect), ("duration", \.duration), ("reserved", \.reserved)),
        unsafe view(
            cpi_source.self,
            ("size", \.size), ("kind", \.kind), ("length", \.length), ("bytes", \.bytes), ("ctx", \.ctx),
            ("available", \.available), ("complete", \.complete), ("read_at", \.read_at)),
        unsafe view(
            cpi_sink.self,
            ("size", \.size), ("flags", \.flags), ("ctx", \.ctx), ("write", \.write), ("write_at", \.write_at)),
        unsafe view(
            cpi_blob.self,
            ("size", \.size), ("kind", \.kind), ("key", \.key), ("bytes", \.bytes), ("length", \.length)),
        unsafe view(
            cpi_option.self,
            ("size", \.size), ("type", \.type), ("flags", \.flags), ("reserved", \.reserved), ("key", \.key),
            ("integer", \.integer), ("real", \.real), ("bytes", \.bytes), ("length", \.length)),
        unsafe view(
            cpi_options.self,
            ("size", \.size), ("count", \.count), ("stride", \.stride), ("items", \.items)),
        view(
            cpi_limits.self,
            ("size", \.size), ("max_width", \.max_width), ("max_height", \.max_height),
            ("max_frames", \.max_frames), ("max_pixels", \.max_pixels), ("max_total_pixels", \.max_total_pixels),
            ("max_alloc", \.max_alloc), ("max_total_alloc", \.max_total_alloc),
            ("max_metadata_bytes", \.max_metadata_bytes), ("max_input_bytes", \.max_input_bytes),
            ("max_output_bytes", \.max_output_bytes), ("max_nesting", \.max_nesting),
            ("max_threads", \.max_threads), ("deadline", \.deadline), ("max_scans", \.max_scans),
            ("max_ratio", \.max_ratio)),
        unsafe view(
            cpi_services.self,
            ("size", \.size), ("flags", \.flags), ("ctx", \.ctx), ("allocate", \.allocate), ("release", \.release),
            ("budget", \.budget), ("poll", \.poll), ("log", \.log), ("progress", \.progress), ("now", \.now),
            ("thread_hint", \.thread_hint)),
        unsafe view(
            cpi_host.self,
            ("size", \.size), ("abi_minor", \.abi_minor), ("name", \.name), ("version", \.version), ("ctx", \.ctx),
            ("get", \.get)),
        view(
            cpi_format_offer.self,
            ("size", \.size), ("flags", \.flags), ("format", \.format), ("row_align", \.row_align),
            ("reserved", \.reserved)),
        unsafe view(
            cpi_decode_request.self,
            ("size", \.size), ("flags", \.flags), ("surface", \.surface), ("region", \.region),
            ("reduced_width", \.reduced_width), ("reduced_height", \.reduced_height)),
        unsafe view(
            cpi_decoder_api.self,
            ("size", \.size), ("reserved", \.reserved), ("open", \.open), ("close", \.close),
            ("set_source", \.set_source), ("read_header", \.read_header), ("blob", \.blob), ("offer", \.offer),
            ("reduced_size", \.reduced_size), ("next_frame", \.next_frame), ("seek_frame", \.seek_frame),
            ("decode", \.decode), ("get", \.get), ("dirty", \.dirty)),
        unsafe view(
            cpi_encoder_api.self,
            ("size", \.size), ("reserved", \.reserved), ("open", \.open), ("close", \.close), ("accept", \.accept),
            ("begin", \.begin), ("add_blob", \.add_blob), ("add_frame", \.add_frame), ("finish", \.finish),
            ("get", \.get)),
        unsafe view(
            cpi_coder.self,
            ("size", \.size), ("roles", \.roles), ("id", \.id), ("data", \.data), ("decoder", \.decoder),
            ("encoder", \.encoder)),
        unsafe view(
            cpi_plugin.self,
            ("size", \.size), ("abi_minor_built", \.abi_minor_built), ("abi_minor_needed", \.abi_minor_needed),
            ("concurrency", \.concurrency), ("id", \.id), ("version", \.version), ("coder_count", \.coder_count),
            ("reserved", \.reserved), ("coder", \.coder), ("init", \.`init`), ("quiesce", \.quiesce),
            ("get", \.get)),
        view(
            cpi_table.self,
            ("size", \.size), ("rev", \.rev), ("tag", \.tag)),
        unsafe view(
            cpi_thumbnail_api.self,
            ("table", \.table), ("info", \.info), ("decode", \.decode)),
        unsafe view(
            cpi_thumbnail_encode_api.self,
            ("table", \.table), ("add", \.add)),
    ]

    private static func view<T>(_ type: T.Type, _ fields: (name: String, path: PartialKeyPath<T>)...) -> Struct {
        var figures = ["\(type)": MemoryLayout<T>.size]
        for field in fields { figures["\(type).\(field.name)"] = MemoryLayout<T>.offset(of: field.path) }
        return Struct(figures: figures)
    }
}
