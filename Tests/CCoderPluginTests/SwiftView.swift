import CCoderPlugin

/// The contract's structs as imported by Swift: their sizes and the offsets of their fields.
enum SwiftView {
    struct Struct {
        /// `type` → size and `type.field` → offset, in bytes.
        var figures: [String: Int]
        /// The type, its size, and the end of its last field.
        var ends: [(type: String, size: Int, lastFieldEnds: Int)]
    }

    static let all: [Struct] = [
        view(
            cpi_error.self,
            ("size", \.size), ("code", \.code), ("domain", \.domain), ("message", \.message), ("feature", \.feature),
            ("input_offset", \.input_offset), ("limit_id", \.limit_id), ("reserved", \.reserved),
            ("limit_allowed", \.limit_allowed), ("limit_requested", \.limit_requested)),
        view(
            cpi_rect.self,
            ("x", \.x), ("y", \.y), ("width", \.width), ("height", \.height)),
        view(
            cpi_pixel_format.self,
            ("channels", \.channels), ("numeric", \.numeric), ("bits", \.bits), ("alpha", \.alpha),
            ("count", \.count), ("layout", \.layout), ("reserved", \.reserved)),
        unsafe view(
            cpi_surface.self,
            ("size", \.size), ("flags", \.flags), ("format", \.format), ("width", \.width), ("height", \.height),
            ("stride", \.stride), ("pixels", \.pixels), ("byte_count", \.byte_count)),
        view(
            cpi_color.self,
            ("flags", \.flags), ("primaries", \.primaries), ("transfer", \.transfer), ("matrix", \.matrix),
            ("full_range", \.full_range), ("reserved", \.reserved)),
        view(
            cpi_chromaticities.self,
            ("red_x", \.red_x), ("red_y", \.red_y), ("green_x", \.green_x), ("green_y", \.green_y),
            ("blue_x", \.blue_x), ("blue_y", \.blue_y), ("white_x", \.white_x), ("white_y", \.white_y)),
        view(
            cpi_mastering.self,
            ("colors", \.colors), ("max_luminance", \.max_luminance), ("min_luminance", \.min_luminance)),
        view(
            cpi_image_info.self,
            ("size", \.size), ("flags", \.flags), ("width", \.width), ("height", \.height),
            ("orientation", \.orientation), ("bit_depth", \.bit_depth), ("frame_count", \.frame_count),
            ("loop_kind", \.loop_kind), ("loop_count", \.loop_count), ("native", \.native), ("color", \.color),
            ("density_unit", \.density_unit), ("density_x", \.density_x), ("density_y", \.density_y),
            ("background", \.background), ("tile_width", \.tile_width), ("tile_height", \.tile_height),
            ("region_cost", \.region_cost), ("gamma", \.gamma), ("chromaticities", \.chromaticities),
            ("mastering", \.mastering), ("max_content_light", \.max_content_light),
            ("max_frame_average_light", \.max_frame_average_light)),
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
            ("available", \.available), ("complete", \.complete), ("read_at", \.read_at), ("ending", \.ending)),
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
            ("size", \.size), ("max_width", \.max_width), ("max_height", \.max_height), ("max_frames", \.max_frames),
            ("max_pixels", \.max_pixels), ("max_total_pixels", \.max_total_pixels),
            ("max_source_pixels", \.max_source_pixels), ("max_alloc", \.max_alloc),
            ("max_total_alloc", \.max_total_alloc), ("max_metadata_bytes", \.max_metadata_bytes),
            ("max_input_bytes", \.max_input_bytes), ("max_output_bytes", \.max_output_bytes),
            ("max_nesting", \.max_nesting), ("max_threads", \.max_threads), ("max_scans", \.max_scans),
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
            ("scaled_width", \.scaled_width), ("scaled_height", \.scaled_height)),
        unsafe view(
            cpi_decoder_api.self,
            ("size", \.size), ("reserved", \.reserved), ("open", \.open), ("close", \.close),
            ("set_source", \.set_source), ("read_header", \.read_header), ("blob", \.blob), ("offer", \.offer),
            ("scaled_size", \.scaled_size), ("next_frame", \.next_frame), ("seek_frame", \.seek_frame),
            ("decode", \.decode), ("dirty", \.dirty), ("get", \.get)),
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
            ("reserved", \.reserved), ("coder", \.coder), ("init", \.`init`), ("get", \.get)),
        view(
            cpi_table.self,
            ("size", \.size), ("rev", \.rev), ("tag", \.tag)),
        unsafe view(
            cpi_item.self,
            ("size", \.size), ("flags", \.flags), ("role", \.role), ("of", \.of), ("group", \.group),
            ("reserved", \.reserved), ("name", \.name), ("kind", \.kind)),
        unsafe view(
            cpi_items_api.self,
            ("table", \.table), ("describe", \.describe), ("select", \.select), ("count", \.count)),
        unsafe view(
            cpi_thumbnail_encode_api.self,
            ("table", \.table), ("add", \.add)),
        unsafe view(
            cpi_encode_items_api.self,
            ("table", \.table), ("next_item", \.next_item)),
        unsafe view(
            cpi_encode_rows_api.self,
            ("table", \.table), ("begin_rows", \.begin_rows), ("add_rows", \.add_rows)),
        unsafe view(
            cpi_parallel_api.self,
            ("table", \.table), ("run", \.run)),
        unsafe view(
            cpi_rewrite_request.self,
            ("size", \.size), ("flags", \.flags), ("remove", \.remove), ("orientation", \.orientation),
            ("crop", \.crop), ("blobs", \.blobs), ("blob_stride", \.blob_stride), ("blob_count", \.blob_count),
            ("reserved", \.reserved)),
        view(
            cpi_rewrite_outcome.self,
            ("size", \.size), ("flags", \.flags), ("kept", \.kept), ("reserved", \.reserved)),
        unsafe view(
            cpi_rewrite_api.self,
            ("table", \.table), ("rewrite", \.rewrite)),
        unsafe view(
            cpi_transcode_api.self,
            ("table", \.table), ("transcode", \.transcode)),
    ]

    private static func view<T>(_ kind: T.Type, _ fields: (name: String, path: PartialKeyPath<T>)...) -> Struct {
        var figures = ["\(kind)": MemoryLayout<T>.size]
        for field in fields { figures["\(kind).\(field.name)"] = MemoryLayout<T>.offset(of: field.path) }
        let last = fields.last.flatMap { field -> Int? in
            func size<V>(_ type: V.Type) -> Int { MemoryLayout<V>.size }
            let valueType = type(of: field.path).valueType
            return MemoryLayout<T>.offset(of: field.path).map { $0 + _openExistential(valueType, do: size) }
        }
        return Struct(figures: figures, ends: [("\(kind)", MemoryLayout<T>.size, last ?? 0)])
    }
}
