/*
 * coder.c - the coder @ID@: one C file, the header of coderhost and the C library.
 *
 * The format is a toy, so that everything works before you change anything:
 *
 *     "toy-@NAME@\n" | width 4 | height 4 | rows from the top, RGBA of 8 bits, straight alpha      (big-endian)
 *
 * What is yours to replace stands under "the format" and in the loops of `decode_rows` and `add_frame`; the rest is
 * what every coder owes its host: the order of calls, errors that stay, limits, asking whether to go on, input that is
 * not all there.
 * The contract is <coder_plugin.h>; decoder.h and encoder.h draw the order of calls.
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* All that the host knows before it runs a line of this file. What is said here and below has to be the same. */
CPI_MANIFEST("{ \"schema\": 1,"
    " \"plugin\": { \"id\": \"@ID@-plugin\", \"version\": \"0.1.0\", \"name\": \"@NAME@\","
    "  \"license\": \"UNLICENSED\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": " TEXT(CPI_TARGET_MINOR) ", \"minor_needed\": 0 },"
    " \"concurrency\": \"any\", \"isolation\": { \"threads\": 0 },"
    " \"coders\": [ { \"id\": \"@ID@\", \"roles\": [\"decode\", \"encode\", \"incremental\"],"
    "  \"priority\": 100, \"cost\": \"cheap\", \"metadata\": [],"
    "  \"formats\": [ { \"id\": \"@NAME@\", \"name\": \"@NAME@\", \"mime\": [\"image/x-@NAME@\"],"
    "   \"extensions\": [\"@NAME@\"], \"uti\": [],"
    "   \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"@MAGIC_HEX@\" } ] } ] } ],"
    "  \"options\": [] } ] }");

/* ---- the format ------------------------------------------------------------------------------------------------- */

#define MAGIC "toy-@NAME@\n"

enum { MAGIC_BYTES = sizeof MAGIC - 1, HEADER_BYTES = MAGIC_BYTES + 8, PIXEL_BYTES = 4, ROWS_PER_POLL = 64 };

/* The one pixel format that is decoded to and encoded from; the host converts. */
static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0};

static uint32_t get_u32(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put_u32(uint8_t *b, uint32_t number) {
    for (int i = 0; i < 4; i++) b[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* ---- what both directions share --------------------------------------------------------------------------------- */

/* Where a session is in the order of calls; `enter` takes a set of them. */
enum { OPENED = 1, SOURCED = 2, HEADER = 4, FRAME = 8, DECODED = 16, BEGUN = 32, FRAMED = 64, FINISHED = 128 };

typedef struct session {
    const cpi_services *services;
    cpi_limits          limits;
    unsigned            state;
    cpi_error           failure; /* code 0 until a call fails; every later call repeats it */
} session;

/* Copies a struct that may be of another minor than ours: only what both sides know; `size` stays the reader's. */
static void copy_struct(void *to, const void *from) {
    uint32_t to_size, from_size;
    memcpy(&to_size, to, sizeof to_size);
    memcpy(&from_size, from, sizeof from_size);
    const uint32_t count = to_size < from_size ? to_size : from_size;
    if (count > sizeof to_size) memcpy((char *)to + 4, (const char *)from + 4, count - 4);
}

static cpi_status repeat_failure(session *s, cpi_error *error) {
    copy_struct(error, &s->failure);
    return s->failure.code;
}

/* Ends the session with one sentence for a person: what is wrong, and at which byte. No file name, no content. */
static cpi_status fail_at(session *s, cpi_error *error, cpi_status code, uint64_t offset, const char *message) {
    s->failure = (cpi_error){.size = sizeof s->failure, .code = code, .input_offset = offset};
    snprintf(s->failure.message, sizeof s->failure.message, "%s", message);
    if (code == CPI_UNSUPPORTED) snprintf(s->failure.feature, sizeof s->failure.feature, "%s", message);
    return repeat_failure(s, error);
}

static cpi_status fail(session *s, cpi_error *error, cpi_status code, const char *message) {
    return fail_at(s, error, code, 0, message);
}

static cpi_status exceed(session *s, cpi_error *error, uint32_t limit, uint64_t allowed, uint64_t requested) {
    fail(s, error, CPI_LIMIT, "the picture is larger than the limits allow");
    s->failure.limit_id        = limit;
    s->failure.limit_allowed   = allowed;
    s->failure.limit_requested = requested;
    return repeat_failure(s, error);
}

/* Every call begins here: a session that failed repeats its failure, a call out of order fails it. */
static cpi_status enter(session *s, unsigned states, cpi_error *error) {
    if (s->failure.code < 0) return repeat_failure(s, error);
    return s->state & states ? CPI_OK : fail(s, error, CPI_MISUSE, "the call is out of order");
}

/* Every 64 rows: the user may have had enough, and time may be up. */
static cpi_status ask_to_go_on(session *s, uint32_t row, uint32_t rows, cpi_error *error) {
    const cpi_status answer = s->services->poll(s->services->ctx);
    if (answer != CPI_CONTINUE) return fail(s, error, answer < 0 ? answer : CPI_CANCELLED, "the host asked to stop");
    s->services->progress(s->services->ctx, row, rows);
    return CPI_OK;
}

static cpi_status check_size(session *s, uint32_t width, uint32_t height, cpi_error *error) {
    const cpi_limits *limits = &s->limits;
    const uint64_t    pixels = (uint64_t)width * height;
    if (limits->max_width && width > limits->max_width)
        return exceed(s, error, CPI_LIMIT_WIDTH, limits->max_width, width);
    if (limits->max_height && height > limits->max_height)
        return exceed(s, error, CPI_LIMIT_HEIGHT, limits->max_height, height);
    if (limits->max_pixels && pixels > limits->max_pixels)
        return exceed(s, error, CPI_LIMIT_PIXELS, limits->max_pixels, pixels);
    return CPI_OK;
}

/* The upper half of a flags word has to be understood, and no bit of it is defined yet. */
static int demands_more(uint32_t flags) { return (flags & 0xffff0000u) != 0; }

static int same_format(cpi_pixel_format a, cpi_pixel_format b) {
    return a.channels == b.channels && a.numeric == b.numeric && a.bits == b.bits && a.alpha == b.alpha;
}

static cpi_status offer_format(uint32_t index, cpi_format_offer *offer) {
    if (index > 0) return CPI_END;
    const cpi_format_offer mine = {.size = sizeof mine, .format = rgba, .row_align = 1};
    copy_struct(offer, &mine);
    return CPI_OK;
}

/* Whether a surface has the agreed format and size, and room for every row: the host's word is checked, too. */
static int is_agreed(const cpi_surface *surface, uint32_t width, uint32_t height) {
    const uint64_t row = (uint64_t)width * PIXEL_BYTES;
    return surface->pixels && !demands_more(surface->flags) && same_format(surface->format, rgba)
        && surface->width == width && surface->height == height && surface->stride >= row && surface->byte_count >= row
        && (height == 1 || surface->stride <= (surface->byte_count - row) / (height - 1));
}

/* Takes zeroed memory for a session from the host, which counts it. There is none: say so, do not fall over. */
static void *start_session(const cpi_services *services, const cpi_limits *limits, const cpi_options *options,
                           uint64_t size, cpi_status *status, cpi_error *error) {
    cpi_error mine = {.size = sizeof mine};
    if (demands_more(services->flags)) {
        mine.code = *status = CPI_UNSUPPORTED;
        snprintf(mine.message, sizeof mine.message, "the host's services have an unknown flag");
        copy_struct(error, &mine);
        return NULL;
    }
    /* An option of your own: its schema in the manifest, and a comparison with its key here. */
    for (uint32_t i = 0; options && i < options->count; i++) {
        const cpi_option *option = (const void *)((const char *)options->items + i * options->stride);
        if (option->flags & CPI_OPTION_HINT && !demands_more(option->flags)) continue;
        mine.code = demands_more(option->flags) ? CPI_UNSUPPORTED : CPI_INVALID_ARGUMENT;
        snprintf(mine.message, sizeof mine.message, "there is no option %.64s", option->key);
        copy_struct(error, &mine);
        *status = mine.code;
        return NULL;
    }
    void *memory = services->allocate(services->ctx, size);
    if (!memory) {
        mine.code = *status = CPI_NO_MEMORY;
        snprintf(mine.message, sizeof mine.message, "there is no memory for a session");
        copy_struct(error, &mine);
        return NULL;
    }
    memset(memory, 0, size);
    session *s     = memory; /* the first field of both kinds */
    s->services    = services;
    s->limits.size = sizeof s->limits;
    s->state       = OPENED;
    copy_struct(&s->limits, limits);
    *status = CPI_OK;
    return memory;
}

static void end_session(session *s) { s->services->release(s->services->ctx, s); }

/* ---- decoding --------------------------------------------------------------------------------------------------- */

struct cpi_decoder {
    session           base;
    const cpi_source *source;
    uint32_t          width, height;
    uint32_t          row; /* the next one to decode; rows before it are in the surface */
    cpi_rect          dirty;
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder;
    cpi_status status;
    *decoder = start_session(services, limits, options, sizeof **decoder, &status, error);
    return status;
}

static void close_decoder(cpi_decoder *d) { end_session(&d->base); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    const cpi_status status = enter(&d->base, OPENED, error);
    if (status != CPI_OK) return status;
    d->source     = source;
    d->base.state = SOURCED;
    return CPI_OK;
}

/* Every number in a file is hostile until it was checked with arithmetic that cannot overflow. */
static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    session   *s      = &d->base;
    cpi_status status = enter(s, SOURCED, error);
    if (status != CPI_OK) return status;
    uint8_t  header[HEADER_BYTES];
    uint64_t count = 0;
    status         = d->source->read_at(d->source->ctx, 0, header, HEADER_BYTES, &count);
    if (status < 0) return fail(s, error, status, "the input cannot be read");
    if (memcmp(header, MAGIC, count < MAGIC_BYTES ? (size_t)count : MAGIC_BYTES) != 0)
        return fail(s, error, CPI_NOT_MINE, "this is another format");
    if (count < HEADER_BYTES)
        return status == CPI_NEED_INPUT ? CPI_NEED_INPUT
                                        : fail_at(s, error, CPI_TRUNCATED, count, "the data ends in the header");

    d->width  = get_u32(header + MAGIC_BYTES);
    d->height = get_u32(header + MAGIC_BYTES + 4);
    if (d->width == 0 || d->height == 0) return fail_at(s, error, CPI_CORRUPT, MAGIC_BYTES, "there are no pixels");
    if ((uint64_t)d->width * d->height > (UINT64_MAX - HEADER_BYTES) / PIXEL_BYTES)
        return fail_at(s, error, CPI_CORRUPT, MAGIC_BYTES, "no data can be as large as the header says");
    if ((status = check_size(s, d->width, d->height, error)) != CPI_OK) return status;

    const cpi_image_info mine = {
        .size        = sizeof mine,
        .flags       = CPI_IMAGE_HAS_ALPHA,
        .width       = d->width,
        .height      = d->height,
        .bit_depth   = 8,
        .frame_count = 1,
        .native      = rgba,
        /* No flag: the format does not say what its colours mean. */
    };
    copy_struct(info, &mine);
    s->state = HEADER;
    return CPI_OK;
}

static cpi_status offer(cpi_decoder *d, uint32_t index, cpi_format_offer *out, cpi_error *error) {
    const cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    return status != CPI_OK ? status : offer_format(index, out);
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    const cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (d->base.state != HEADER) return CPI_END;
    const cpi_frame_info mine = {
        .size  = sizeof mine,
        .flags = CPI_FRAME_INDEPENDENT | CPI_FRAME_HAS_ALPHA,
        .blend = CPI_BLEND_SOURCE,
        .rect  = {0, 0, d->width, d->height},
    };
    copy_struct(frame, &mine);
    d->base.state = FRAME;
    return CPI_OK;
}

static cpi_status seek_frame(cpi_decoder *d, uint32_t *index, cpi_error *error) {
    const cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (*index != 0) return fail(&d->base, error, CPI_INVALID_ARGUMENT, "there is only frame 0");
    d->row        = 0;
    d->base.state = HEADER;
    return CPI_OK;
}

/* The bytes ended before the picture did; rows from `first` on are new. */
static cpi_status run_dry(cpi_decoder *d, uint32_t first, int may_grow, int wants_partial, cpi_error *error) {
    const uint64_t end = HEADER_BYTES + (uint64_t)d->row * d->width * PIXEL_BYTES;
    d->dirty           = (cpi_rect){0, (int32_t)first, d->row > first ? d->width : 0, d->row - first};
    if (wants_partial && d->row > (may_grow ? first : 0)) return CPI_PARTIAL;
    if (may_grow) return CPI_NEED_INPUT;
    return fail_at(&d->base, error, CPI_TRUNCATED, end, "the data ends before the last row");
}

/* Reads each row straight into the surface, and not a byte further: what is behind a row is not ours. */
static cpi_status decode_rows(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    const cpi_surface *surface   = request->surface;
    const uint64_t     row_bytes = (uint64_t)d->width * PIXEL_BYTES;
    const uint32_t     first     = d->row;
    for (; d->row < d->height; d->row++) {
        if (d->row % ROWS_PER_POLL == 0) {
            const cpi_status status = ask_to_go_on(&d->base, d->row, d->height, error);
            if (status != CPI_OK) return status;
        }
        uint64_t         count  = 0;
        const uint64_t   offset = HEADER_BYTES + d->row * row_bytes;
        const cpi_status status = d->source->read_at(d->source->ctx, offset, surface->pixels + d->row * surface->stride,
                                                     row_bytes, &count);
        if (status < 0) return fail_at(&d->base, error, status, offset, "the input cannot be read");
        if (count < row_bytes)
            return run_dry(d, first, status == CPI_NEED_INPUT, (request->flags & CPI_DECODE_WANT_PARTIAL) != 0, error);
    }
    d->dirty      = (cpi_rect){0, (int32_t)first, d->width, d->height - first};
    d->base.state = DECODED;
    return CPI_OK;
}

static int is_whole(uint32_t wanted, uint32_t full) { return wanted == 0 || wanted == full; }

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    session         *s      = &d->base;
    const cpi_status status = enter(s, FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    const cpi_rect part = request->region;
    if (demands_more(request->flags)) return fail(s, error, CPI_UNSUPPORTED, "the request has an unknown flag");
    if (part.x || part.y || !is_whole(part.width, d->width) || !is_whole(part.height, d->height)
        || !is_whole(request->scaled_width, d->width) || !is_whole(request->scaled_height, d->height))
        return fail(s, error, CPI_UNSUPPORTED, "only whole pictures are decoded");
    if (!is_agreed(request->surface, d->width, d->height))
        return fail(s, error, CPI_MISUSE, "the surface is not what was agreed");
    if (s->state == DECODED) d->row = 0;
    s->state = FRAME;
    return decode_rows(d, request, error);
}

static cpi_status dirty(cpi_decoder *d, cpi_rect *rect, cpi_error *error) {
    const cpi_status status = enter(&d->base, FRAME | DECODED, error);
    if (status == CPI_OK) *rect = d->dirty;
    return status;
}

/* No extension, so every id is unknown. */
static const void *get_from_decoder(cpi_decoder *d, const char *id) { return (void)d, (void)id, NULL; }

static const cpi_decoder_api decoder_api = {
    .size        = sizeof(cpi_decoder_api),
    .open        = open_decoder,
    .close       = close_decoder,
    .set_source  = set_source,
    .read_header = read_header,
    .offer       = offer,
    .next_frame  = next_frame,
    .seek_frame  = seek_frame,
    .decode      = decode,
    .get         = get_from_decoder,
    .dirty       = dirty,
};

/* ---- encoding --------------------------------------------------------------------------------------------------- */

struct cpi_encoder {
    session         base;
    const cpi_sink *sink;
    uint32_t        width, height;
};

static cpi_status open_encoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_encoder **encoder, cpi_error *error) {
    (void)coder;
    cpi_status status;
    *encoder = start_session(services, limits, options, sizeof **encoder, &status, error);
    return status;
}

static void close_encoder(cpi_encoder *e) { end_session(&e->base); }

static cpi_status accept(cpi_encoder *e, const cpi_image_info *info, uint32_t index, cpi_format_offer *out,
                         cpi_error *error) {
    (void)info;
    const cpi_status status = enter(&e->base, OPENED, error);
    return status != CPI_OK ? status : offer_format(index, out);
}

static cpi_status begin(cpi_encoder *e, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error) {
    session   *s      = &e->base;
    cpi_status status = enter(s, OPENED, error);
    if (status != CPI_OK) return status;
    if (demands_more(info->flags)) return fail(s, error, CPI_UNSUPPORTED, "the picture has an unknown flag");
    if (demands_more(sink->flags)) return fail(s, error, CPI_UNSUPPORTED, "the output has an unknown flag");
    if (info->width == 0 || info->height == 0) return fail(s, error, CPI_INVALID_ARGUMENT, "there are no pixels");
    if (info->frame_count > 1) return fail(s, error, CPI_UNSUPPORTED, "more than one frame");
    if (!same_format(info->native, rgba)) return fail(s, error, CPI_MISUSE, "the pixel format was not accepted");
    if ((status = check_size(s, info->width, info->height, error)) != CPI_OK) return status;
    e->sink   = sink;
    e->width  = info->width;
    e->height = info->height;
    s->state  = BEGUN;
    return CPI_OK;
}

static cpi_status write_out(cpi_encoder *e, const uint8_t *bytes, uint64_t count, cpi_error *error) {
    session         *s      = &e->base;
    const cpi_status status = e->sink->write(e->sink->ctx, bytes, count);
    if (status >= 0) return CPI_OK;
    fail(s, error, status, "the output cannot be written");
    if (status == CPI_LIMIT) {
        s->failure.limit_id      = CPI_LIMIT_OUTPUT_BYTES;
        s->failure.limit_allowed = s->limits.max_output_bytes;
    }
    return repeat_failure(s, error);
}

static cpi_status add_frame(cpi_encoder *e, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error) {
    session   *s      = &e->base;
    cpi_status status = enter(s, BEGUN, error);
    if (status != CPI_OK) return status;
    if (demands_more(frame->flags)) return fail(s, error, CPI_UNSUPPORTED, "the frame has an unknown flag");
    if (!is_agreed(surface, e->width, e->height))
        return fail(s, error, CPI_MISUSE, "the surface is not what was agreed");

    uint8_t header[HEADER_BYTES];
    memcpy(header, MAGIC, MAGIC_BYTES);
    put_u32(header + MAGIC_BYTES, e->width);
    put_u32(header + MAGIC_BYTES + 4, e->height);
    if ((status = write_out(e, header, HEADER_BYTES, error)) != CPI_OK) return status;
    for (uint32_t y = 0; y < e->height; y++) {
        if (y % ROWS_PER_POLL == 0 && (status = ask_to_go_on(s, y, e->height, error)) != CPI_OK) return status;
        status = write_out(e, surface->pixels + y * surface->stride, (uint64_t)e->width * PIXEL_BYTES, error);
        if (status != CPI_OK) return status;
    }
    s->state = FRAMED;
    return CPI_OK;
}

/* Nothing is left to write; a format with a trailer writes it here. */
static cpi_status finish(cpi_encoder *e, cpi_error *error) {
    const cpi_status status = enter(&e->base, FRAMED, error);
    if (status == CPI_OK) e->base.state = FINISHED;
    return status;
}

static const void *get_from_encoder(cpi_encoder *e, const char *id) { return (void)e, (void)id, NULL; }

static const cpi_encoder_api encoder_api = {
    .size      = sizeof(cpi_encoder_api),
    .open      = open_encoder,
    .close     = close_encoder,
    .accept    = accept,
    .begin     = begin,
    .add_frame = add_frame,
    .finish    = finish,
    .get       = get_from_encoder,
};

/* ---- the plugin ------------------------------------------------------------------------------------------------- */

static const cpi_coder only_coder = {
    .size    = sizeof(cpi_coder),
    .roles   = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL,
    .id      = "@ID@",
    .decoder = &decoder_api,
    .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &only_coder : NULL; }

static const void *get(const char *id) { return (void)id, NULL; }

static const cpi_plugin plugin = {
    .size             = sizeof(cpi_plugin),
    .abi_minor_built  = CPI_TARGET_MINOR,
    .abi_minor_needed = 0,
    .concurrency      = CPI_CONCURRENCY_ANY,
    .id               = "@ID@-plugin",
    .version          = "0.1.0",
    .coder_count      = 1,
    .coder            = coder,
    .get              = get,
};

/* The one symbol that is exported. */
const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
