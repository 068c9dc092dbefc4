/*
 * coder.c - the coder @ID@, in one C file.
 *
 * The format is a toy, so that everything works before you change anything. Its numbers are big-endian:
 *
 *     "toy-@NAME@\n" | width 4 | height 4 | rows from the top: RGBA, 8 bits each, straight alpha
 *
 * Replace read_header, decode and add_frame by code for your format. <coder_plugin.h> is the contract; the headers that
 * it includes show the order of calls. <cpi/session.h> implements the rules for every coder.
 */
#include <coder_plugin.h>
#include <cpi/session.h>

/* The manifest: the host reads it without running this file. The tables below must match it. */
CPI_MANIFEST("{ \"schema\": 1,"
    " \"plugin\": { \"id\": \"@ID@-plugin\", \"version\": \"0.1.0\", \"name\": \"@NAME@\","
    "  \"license\": \"UNLICENSED\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": 0, \"minor_needed\": 0 },"
    " \"concurrency\": \"any\", \"isolation\": { \"threads\": 0 },"
    " \"coders\": [ { \"id\": \"@ID@\", \"roles\": [\"decode\", \"encode\", \"incremental\"], \"priority\": 100,"
    "  \"formats\": [ { \"id\": \"@NAME@\", \"name\": \"@NAME@\", \"mime\": [\"image/x-@NAME@\"],"
    "   \"extensions\": [\"@NAME@\"],"
    "   \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"@MAGIC_HEX@\" } ] } ] } ] } ] }");

#define MAGIC "toy-@NAME@\n"

enum { MAGIC_BYTES = sizeof MAGIC - 1, HEADER_BYTES = MAGIC_BYTES + 8, PIXEL_BYTES = 4 };

/* The only pixel format of decoder and encoder; the host converts. */
static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0, 0, 0};

static uint32_t get_u32(const uint8_t *b) { return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]; }
static void put_u32(uint8_t *b, uint32_t n) { b[0] = n >> 24, b[1] = n >> 16, b[2] = n >> 8, b[3] = n; }

/* For your own options, add a schema to the manifest and compare the key here. NULL: see error->code. */
static void *open_session(const cpi_services *services, const cpi_limits *limits, const cpi_options *options,
                          size_t bytes, cpi_error *error) {
    const cpi_option *option;
    for (uint32_t i = 0; (option = cpi_session_option(options, i)); i++)
        if (!(option->flags & CPI_OPTION_HINT))
            return cpi_session_fail(NULL, error, CPI_INVALID_ARGUMENT, 0, "no option %s", option->key), NULL;
    return cpi_session_open(services, limits, bytes, error);
}

/* ---- decoding: decoder.h ----------------------------------------------------------------------------------------- */

struct cpi_decoder {
    cpi_session session;            /* the first field                                        */
    uint32_t    width, height, row; /* the next row to decode; earlier rows are in the surface */
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder;
    *decoder = open_session(services, limits, options, sizeof **decoder, error);
    return *decoder ? CPI_OK : error->code;
}

static void close_decoder(cpi_decoder *d) { cpi_session_close(&d->session); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    if (cpi_session_enter(&d->session, CPI_SESSION_OPENED, error) < 0) return d->session.failure.code;
    d->session.source = source;
    d->session.state  = CPI_SESSION_SOURCED;
    return CPI_OK;
}

/* Treat every number in a file as hostile until it is validated with arithmetic that cannot overflow. */
static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    uint8_t    header[HEADER_BYTES];
    cpi_status status = cpi_session_enter(&d->session, CPI_SESSION_SOURCED, error);
    if (status == CPI_OK) status = cpi_session_read(&d->session, 0, header, HEADER_BYTES, error);
    if (status != CPI_OK) return status;
    if (memcmp(header, MAGIC, MAGIC_BYTES) != 0)
        return cpi_session_fail(&d->session, error, CPI_NOT_MINE, 0, "the file begins otherwise");
    d->width  = get_u32(header + MAGIC_BYTES);
    d->height = get_u32(header + MAGIC_BYTES + 4);
    if (d->width == 0 || d->height == 0 || d->height > UINT64_MAX / 2 / PIXEL_BYTES / d->width)
        return cpi_session_fail(&d->session, error, CPI_CORRUPT, MAGIC_BYTES, "%u x %u pixels", d->width, d->height);
    cpi_session_copy(info, &(cpi_image_info){.size = sizeof *info, .flags = CPI_IMAGE_HAS_ALPHA, .width = d->width,
                                             .height = d->height, .bit_depth = 8, .frame_count = 1, .native = rgba});
    d->session.state = CPI_SESSION_HEADER;
    return CPI_OK;
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    const uint32_t states = CPI_SESSION_HEADER | CPI_SESSION_FRAME | CPI_SESSION_DECODED;
    if (cpi_session_enter(&d->session, states, error) < 0) return d->session.failure.code;
    if (d->session.state != CPI_SESSION_HEADER) return CPI_END;
    cpi_session_copy(frame, &(cpi_frame_info){.size = sizeof *frame, .rect = {0, 0, d->width, d->height},
                                              .flags = CPI_FRAME_INDEPENDENT | CPI_FRAME_HAS_ALPHA});
    d->session.state = CPI_SESSION_FRAME;
    return CPI_OK;
}

/* Reads each row directly into the surface. Bytes after the end of a row belong to the host. */
static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    cpi_session       *s       = &d->session;
    const cpi_surface *surface = request->surface;
    cpi_status         status  = cpi_session_enter(s, CPI_SESSION_FRAME | CPI_SESSION_DECODED, error);
    if (status == CPI_OK && (request->region.width || request->scaled_width))
        return cpi_session_fail(s, error, CPI_REFUSED, 0, "only whole images are decoded");
    if (status == CPI_OK) status = cpi_session_surface(s, surface, rgba, d->width, d->height, error);
    if (status != CPI_OK) return status;
    if (s->state == CPI_SESSION_DECODED) d->row = 0;
    s->state = CPI_SESSION_FRAME;
    const uint64_t row_bytes = (uint64_t)d->width * PIXEL_BYTES;
    const uint32_t first     = d->row;
    while (d->row < d->height && (status = cpi_session_poll(s, d->row, d->height, error)) == CPI_OK
           && (status = cpi_session_read(s, HEADER_BYTES + d->row * row_bytes,
                                         surface->pixels + d->row * surface->stride, row_bytes, error)) == CPI_OK)
        d->row++;
    if (status == CPI_OK) s->state = CPI_SESSION_DECODED;
    if (status == CPI_NEED_INPUT && d->row > first && request->flags & CPI_DECODE_WANT_PARTIAL) return CPI_PARTIAL;
    return status;
}

static const cpi_decoder_api decoder_api = {
    .size = sizeof decoder_api, .open = open_decoder, .close = close_decoder, .set_source = set_source,
    .read_header = read_header, .next_frame = next_frame, .decode = decode,
};

/* ---- encoding: encoder.h ----------------------------------------------------------------------------------------- */

struct cpi_encoder { cpi_session session; uint32_t width, height; };

static cpi_status open_encoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_encoder **encoder, cpi_error *error) {
    (void)coder;
    *encoder = open_session(services, limits, options, sizeof **encoder, error);
    return *encoder ? CPI_OK : error->code;
}

static void close_encoder(cpi_encoder *e) { cpi_session_close(&e->session); }

static cpi_status accept(cpi_encoder *e, const cpi_image_info *info, uint32_t index, cpi_format_offer *offer,
                         cpi_error *error) {
    (void)info;
    if (cpi_session_enter(&e->session, CPI_SESSION_OPENED, error) < 0) return e->session.failure.code;
    if (index > 0) return CPI_END;
    cpi_session_copy(offer, &(cpi_format_offer){.size = sizeof *offer, .format = rgba});
    return CPI_OK;
}

static cpi_status begin(cpi_encoder *e, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error) {
    if (cpi_session_enter(&e->session, CPI_SESSION_OPENED, error) < 0) return e->session.failure.code;
    e->session.sink  = sink;
    e->session.state = CPI_SESSION_BEGUN;
    e->width = info->width, e->height = info->height;
    return CPI_OK;
}

static cpi_status add_frame(cpi_encoder *e, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error) {
    (void)frame;
    cpi_session *s      = &e->session;
    cpi_status   status = cpi_session_enter(s, CPI_SESSION_BEGUN, error);
    if (status == CPI_OK) status = cpi_session_surface(s, surface, rgba, e->width, e->height, error);
    if (status != CPI_OK) return status;
    const uint64_t row_bytes            = (uint64_t)e->width * PIXEL_BYTES;
    uint8_t        header[HEADER_BYTES] = MAGIC;
    put_u32(header + MAGIC_BYTES, e->width);
    put_u32(header + MAGIC_BYTES + 4, e->height);
    status = cpi_session_write(s, header, HEADER_BYTES, error);
    for (uint32_t y = 0; status == CPI_OK && y < e->height; y++)
        if ((status = cpi_session_poll(s, y, e->height, error)) == CPI_OK)
            status = cpi_session_write(s, surface->pixels + y * surface->stride, row_bytes, error);
    if (status == CPI_OK) s->state = CPI_SESSION_FRAMED;
    return status;
}

/* Write the trailer of your format here, if it has one. */
static cpi_status finish(cpi_encoder *e, cpi_error *error) {
    const cpi_status status = cpi_session_enter(&e->session, CPI_SESSION_FRAMED, error);
    if (status == CPI_OK) e->session.state = CPI_SESSION_FINISHED;
    return status;
}

static const cpi_encoder_api encoder_api = {
    .size = sizeof encoder_api, .open = open_encoder, .close = close_encoder, .accept = accept, .begin = begin,
    .add_frame = add_frame, .finish = finish,
};

/* ---- the plugin: plugin.h ---------------------------------------------------------------------------------------- */

static const cpi_coder the_coder = {
    .size = sizeof the_coder, .roles = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL, .id = "@ID@",
    .decoder = &decoder_api, .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &the_coder : NULL; }

static const cpi_plugin plugin = {
    .size = sizeof plugin, .abi_minor_built = 0, .abi_minor_needed = 0, .concurrency = CPI_CONCURRENCY_ANY,
    .id = "@ID@-plugin", .version = "0.1.0", .coder_count = 1, .coder = coder,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) { return (void)host, (void)error, &plugin; }
