/*
 * film.c - a coder of stills and animations, built against every minor that is kept here.
 *
 * It stands for the plugins that were built long ago: it is compiled with a kept header and that header's own default
 * minor. What a later minor brought is used where the header declares it, and nothing else is ever changed.
 *
 *     "film-1\n" | width 2 | height 2 | frames 2 | plays 2: 0 without end, ffff not said     (numbers big-endian)
 *     a frame:     milliseconds 2 | rows from the top, RGBA of 8 bits, straight alpha
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

CPI_MANIFEST("{ \"schema\": 1,"
    " \"plugin\": { \"id\": \"org.example.film-plugin\", \"version\": \"1.0.0\", \"name\": \"Film\","
    "  \"license\": \"Apache-2.0\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": " TEXT(CPI_TARGET_MINOR) ", \"minor_needed\": 0 },"
    " \"concurrency\": \"any\", \"isolation\": { \"threads\": 0 },"
    " \"coders\": [ { \"id\": \"org.example.film\","
    "  \"roles\": [\"decode\", \"encode\", \"animation\", \"encode-animation\"],"
    "  \"formats\": [ { \"id\": \"film\", \"name\": \"Film\", \"mime\": [\"image/x-film\"], \"extensions\": [\"film\"],"
    "   \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"66696c6d2d310a\" } ] } ] } ], \"options\": [] } ] }");

#define MAGIC "film-1\n"

enum { MAGIC_BYTES = 7, COUNT_AT = MAGIC_BYTES + 4, HEADER_BYTES = MAGIC_BYTES + 8, TIME_BYTES = 2, NOT_SAID = 0xffff };
enum { OPENED = 1, SOURCED = 2, HEADER = 4, FRAME = 8, DECODED = 16, BEGUN = 32, FRAMED = 64, FINISHED = 128 };

static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0, 0, 0};

typedef struct session {
    const cpi_services *services;
    unsigned            state;
    cpi_error           failure;
} session;

static uint32_t get_u16(const uint8_t *b) { return (uint32_t)b[0] << 8 | b[1]; }
static void     put_u16(uint8_t *b, uint32_t number) { b[0] = (uint8_t)(number >> 8), b[1] = (uint8_t)number; }

static void copy_struct(void *to, const void *from) {
    uint32_t to_size, from_size;
    memcpy(&to_size, to, sizeof to_size);
    memcpy(&from_size, from, sizeof from_size);
    const uint32_t count = to_size < from_size ? to_size : from_size;
    if (count > sizeof to_size) memcpy((char *)to + 4, (const char *)from + 4, count - 4);
}

static cpi_status fail(session *s, cpi_error *error, cpi_status code, const char *message) {
    if (s->failure.code == 0) {
        s->failure = (cpi_error){.size = sizeof s->failure, .code = code};
        snprintf(s->failure.message, sizeof s->failure.message, "%s", message);
    }
    copy_struct(error, &s->failure);
    return s->failure.code;
}

static cpi_status enter(session *s, unsigned states, cpi_error *error) {
    return s->failure.code == 0 && s->state & states ? CPI_OK : fail(s, error, CPI_MISUSE, "the call is out of order");
}

static cpi_status go_on(session *s, cpi_error *error) {
    const cpi_status answer = s->services->poll(s->services->ctx);
    return answer == CPI_CONTINUE ? CPI_OK : fail(s, error, answer, "the host asked to stop");
}

static cpi_status offer_rgba(uint32_t index, cpi_format_offer *offer) {
    const cpi_format_offer mine = {.size = sizeof mine, .format = rgba, .row_align = 1};
    if (index == 0) copy_struct(offer, &mine);
    return index == 0 ? CPI_OK : CPI_END;
}

static cpi_status refuse(cpi_error *error, cpi_status code, const char *message) {
    session none = {.state = 0};
    return fail(&none, error, code, message);
}

static cpi_status begin_session(const cpi_services *services, const cpi_options *options, uint64_t size, void **memory,
                                cpi_error *error) {
    for (uint32_t i = 0; options && i < options->count; i++) {
        const cpi_option *option = (const void *)((const char *)options->items + i * options->stride);
        if (!(option->flags & CPI_OPTION_HINT)) return refuse(error, CPI_INVALID_ARGUMENT, "there are no options");
    }
    session *s = services->allocate(services->ctx, size);
    if (!s) return refuse(error, CPI_NO_MEMORY, "no memory");
    memset(s, 0, (size_t)size);
    s->services = services;
    s->state    = OPENED;
    *memory     = s;
    return CPI_OK;
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

struct cpi_decoder {
    session           base;
    const cpi_source *source;
    uint32_t          width, height, frames, plays, next;
    uint64_t          frame_bytes;
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder, (void)limits;
    void            *memory = NULL;
    const cpi_status status = begin_session(services, options, sizeof **decoder, &memory, error);
    *decoder                = memory;
    return status;
}

static void close_decoder(cpi_decoder *d) { d->base.services->release(d->base.services->ctx, d); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    const cpi_status status = enter(&d->base, OPENED, error);
    if (status == CPI_OK) d->source = source, d->base.state = SOURCED;
    return status;
}

/* CPI_OK when all bytes came. */
static cpi_status read_bytes(cpi_decoder *d, uint64_t offset, uint8_t *buffer, uint64_t count, cpi_error *error) {
    uint64_t         copied = 0;
    const cpi_status status = d->source->read_at(d->source->ctx, offset, buffer, count, &copied);
    if (status < 0) return fail(&d->base, error, status, "the input cannot be read");
    if (copied == count) return CPI_OK;
    return status == CPI_NEED_INPUT ? CPI_NEED_INPUT : fail(&d->base, error, CPI_TRUNCATED, "the film is cut");
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    uint8_t    header[HEADER_BYTES];
    cpi_status status = enter(&d->base, SOURCED, error);
    if (status == CPI_OK) status = read_bytes(d, 0, header, HEADER_BYTES, error);
    if (status != CPI_OK) return status;
    if (memcmp(header, MAGIC, MAGIC_BYTES) != 0) return fail(&d->base, error, CPI_NOT_MINE, "this is no film");
    d->width  = get_u16(header + MAGIC_BYTES);
    d->height = get_u16(header + MAGIC_BYTES + 2);
    d->frames = get_u16(header + COUNT_AT);
    d->plays  = get_u16(header + COUNT_AT + 2);
    if (!d->width || !d->height || !d->frames) return fail(&d->base, error, CPI_CORRUPT, "the film is empty");
    d->frame_bytes = TIME_BYTES + (uint64_t)d->width * d->height * 4;

    const cpi_image_info mine = {
        .size        = sizeof mine,
        .flags       = CPI_IMAGE_HAS_ALPHA | (d->frames > 1 ? CPI_IMAGE_ANIMATED : 0),
        .width       = d->width,
        .height      = d->height,
        .bit_depth   = 8,
        .frame_count = d->frames,
        .loop_kind   = d->plays == NOT_SAID ? CPI_LOOPS_UNKNOWN : d->plays ? CPI_LOOPS_COUNT : CPI_LOOPS_INFINITE,
        .loop_count  = d->plays == NOT_SAID ? 0 : d->plays,
        .native      = rgba,
    };
    copy_struct(info, &mine);
    d->base.state = HEADER;
    return CPI_OK;
}

static cpi_status offer(cpi_decoder *d, uint32_t index, cpi_format_offer *out, cpi_error *error) {
    const cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    return status != CPI_OK ? status : offer_rgba(index, out);
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    uint8_t    time[TIME_BYTES], last;
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (d->next == d->frames) return CPI_END;
    const uint64_t start = HEADER_BYTES + d->next * d->frame_bytes;
    if ((status = read_bytes(d, start + d->frame_bytes - 1, &last, 1, error)) != CPI_OK) return status;
    if ((status = read_bytes(d, start, time, TIME_BYTES, error)) != CPI_OK) return status;
    const cpi_frame_info mine = {
        .size     = sizeof mine,
        .flags    = CPI_FRAME_INDEPENDENT | CPI_FRAME_HAS_ALPHA,
        .index    = d->next,
        .rect     = {0, 0, d->width, d->height},
        .duration = {get_u16(time), 1000},
    };
    copy_struct(frame, &mine);
    d->next++;
    d->base.state = FRAME;
    return CPI_OK;
}

static cpi_status seek_frame(cpi_decoder *d, uint32_t *index, cpi_error *error) {
    const cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (*index >= d->frames) return fail(&d->base, error, CPI_INVALID_ARGUMENT, "there is no such frame");
    d->next       = *index;
    d->base.state = HEADER;
    return CPI_OK;
}

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    cpi_status status = enter(&d->base, FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    const cpi_surface *surface = request->surface;
    const uint64_t     row     = (uint64_t)d->width * 4;
    if (surface->width != d->width || surface->height != d->height || surface->stride < row)
        return fail(&d->base, error, CPI_MISUSE, "the surface has another size");
    const cpi_services *s = d->base.services;
    if (s->now(s->ctx) == 0) return fail(&d->base, error, CPI_INTERNAL, "the clock stands still");
    if (s->thread_hint(s->ctx) == 0) return fail(&d->base, error, CPI_INTERNAL, "no thread");
    for (uint32_t y = 0; y < d->height; y++) {
        if (y % 64 == 0 && (status = go_on(&d->base, error)) != CPI_OK) return status;
        const uint64_t offset = HEADER_BYTES + (d->next - 1) * d->frame_bytes + TIME_BYTES + y * row;
        status                = read_bytes(d, offset, surface->pixels + y * surface->stride, row, error);
        if (status != CPI_OK) return status;
    }
    d->base.state = DECODED;
    return CPI_OK;
}

static cpi_status dirty(cpi_decoder *d, cpi_rect *rect, cpi_error *error) {
    const cpi_status status = enter(&d->base, FRAME | DECODED, error);
    if (status == CPI_OK) *rect = (cpi_rect){0, 0, d->width, d->height};
    return status;
}

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
    .dirty = dirty,
};

/* ---- encoding --------------------------------------------------------------------------------------------------- */

struct cpi_encoder {
    session         base;
    const cpi_sink *sink;
    uint32_t        width, height, frames;
};

static cpi_status open_encoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_encoder **encoder, cpi_error *error) {
    (void)coder, (void)limits;
    void            *memory = NULL;
    const cpi_status status = begin_session(services, options, sizeof **encoder, &memory, error);
    *encoder                = memory;
    return status;
}

static void close_encoder(cpi_encoder *e) { e->base.services->release(e->base.services->ctx, e); }

static cpi_status accept(cpi_encoder *e, const cpi_image_info *info, uint32_t index, cpi_format_offer *out,
                         cpi_error *error) {
    (void)info;
    const cpi_status status = enter(&e->base, OPENED, error);
    return status != CPI_OK ? status : offer_rgba(index, out);
}

static cpi_status put(cpi_encoder *e, const uint8_t *bytes, uint64_t count, cpi_error *error) {
    const cpi_status status = e->sink->write(e->sink->ctx, bytes, count);
    return status < 0 ? fail(&e->base, error, status, "the output cannot be written") : CPI_OK;
}

static cpi_status begin(cpi_encoder *e, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error) {
    const cpi_status status = enter(&e->base, OPENED, error);
    if (status != CPI_OK) return status;
    if (info->width > 0xffff || info->height > 0xffff || !info->width || !info->height)
        return fail(&e->base, error, CPI_UNSUPPORTED, "a side of more than 65535 pixels");
    uint32_t plays = info->loop_kind == CPI_LOOPS_INFINITE ? 0 : NOT_SAID;
    if (info->loop_kind == CPI_LOOPS_COUNT && info->loop_count < NOT_SAID) plays = (uint32_t)info->loop_count;
    uint8_t header[HEADER_BYTES] = MAGIC;
    put_u16(header + MAGIC_BYTES, info->width);
    put_u16(header + MAGIC_BYTES + 2, info->height);
    put_u16(header + COUNT_AT, info->frame_count);
    put_u16(header + COUNT_AT + 2, plays);
    e->sink       = sink;
    e->width      = info->width;
    e->height     = info->height;
    e->base.state = BEGUN;
    return put(e, header, HEADER_BYTES, error);
}

static cpi_status add_frame(cpi_encoder *e, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error) {
    cpi_status status = enter(&e->base, BEGUN | FRAMED, error);
    if (status != CPI_OK) return status;
    const cpi_rational d = frame->duration;
    uint8_t            time[TIME_BYTES];
    put_u16(time, d.denominator ? (uint32_t)((uint64_t)d.numerator * 1000 / d.denominator) : 0);
    if ((status = put(e, time, TIME_BYTES, error)) != CPI_OK) return status;
    for (uint32_t y = 0; y < e->height; y++) {
        if (y % 64 == 0 && (status = go_on(&e->base, error)) != CPI_OK) return status;
        if ((status = put(e, surface->pixels + y * surface->stride, e->width * 4, error)) != CPI_OK) return status;
    }
    e->frames++;
    e->base.state = FRAMED;
    return CPI_OK;
}

static cpi_status finish(cpi_encoder *e, cpi_error *error) {
    const cpi_status status = enter(&e->base, FRAMED, error);
    if (status != CPI_OK) return status;
    uint8_t count[2];
    put_u16(count, e->frames);
    if (e->sink->flags & CPI_SINK_SEEKABLE) {
        const cpi_status patched = e->sink->write_at(e->sink->ctx, COUNT_AT, count, sizeof count);
        if (patched < 0) return fail(&e->base, error, patched, "the output cannot be changed");
    }
    e->base.state = FINISHED;
    return CPI_OK;
}

static const cpi_encoder_api encoder_api = {
    .size      = sizeof(cpi_encoder_api),
    .open      = open_encoder,
    .close     = close_encoder,
    .accept    = accept,
    .begin     = begin,
    .add_frame = add_frame,
    .finish    = finish,
};

/* ---- the plugin ------------------------------------------------------------------------------------------------- */

static const cpi_coder film = {
    .size    = sizeof(cpi_coder),
    .roles   = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_ANIMATION | CPI_CODER_ENCODE_ANIMATION,
    .id      = "org.example.film",
    .decoder = &decoder_api,
    .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &film : NULL; }

static const cpi_plugin plugin = {
    .size             = sizeof(cpi_plugin),
    .abi_minor_built  = CPI_TARGET_MINOR,
    .abi_minor_needed = 0,
    .concurrency      = CPI_CONCURRENCY_ANY,
    .id               = "org.example.film-plugin",
    .version          = "1.0.0",
    .coder_count      = 1,
    .coder            = coder,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
