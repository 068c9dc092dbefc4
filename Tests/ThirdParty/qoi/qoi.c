/*
 * qoi.c - a coder for the "Quite OK Image" format, as a third party would write it: one C file that uses only the
 * installed header and the C library.
 *
 *     cc -shared -fPIC $(pkg-config --cflags coderhost-plugin) qoi.c -o libcoder-qoi.so
 *
 * The format (qoiformat.org, specification of 2022-01-05), all numbers big-endian:
 *
 *     header   "qoif" | width 4 | height 4 | channels 1: 3 or 4 | color space 1: 0 sRGB, 1 linear
 *     pixels   row by row from the top; each starts from the pixel before it, the first from 0,0,0,255
 *                11111110 r g b          RGB     alpha stays
 *                11111111 r g b a        RGBA
 *                00iiiiii                INDEX   the pixel last seen with this hash
 *                01rrggbb                DIFF    each difference is stored with 2 added
 *                10gggggg rrrrbbbb       LUMA    green + 32; red and blue relative to green's difference, + 8
 *                11nnnnnn                RUN     the pixel before, n + 1 times; n is 0 ... 61
 *     end      00 00 00 00 00 00 00 01
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <cpi/session.h>

/* Additional manifest keys: tests build this file as a plugin of another minor. */
#ifndef QOI_MORE_KEYS
#define QOI_MORE_KEYS ""
#endif
#ifndef QOI_MORE_ROLES
#define QOI_MORE_ROLES ""
#define QOI_MORE_ROLE_BITS 0u
#endif

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

CPI_MANIFEST("{ \"schema\": 1, " QOI_MORE_KEYS
    "\"plugin\": { \"id\": \"org.example.qoi-plugin\", \"version\": \"1.0.0\", \"name\": \"QOI\","
    " \"vendor\": \"a third party\", \"license\": \"Apache-2.0\" },"
    "\"abi\": { \"major\": 1, \"minor_built\": " TEXT(CPI_TARGET_MINOR) ", \"minor_needed\": 0 },"
    "\"concurrency\": \"any\", \"isolation\": { \"threads\": 0 },"
    "\"coders\": [ { \"id\": \"org.example.qoi\","
    " \"roles\": [\"decode\", \"encode\", \"incremental\"" QOI_MORE_ROLES "],"
    " \"priority\": 100, \"cost\": \"cheap\", \"metadata\": [],"
    " \"formats\": [ { \"id\": \"qoi\", \"name\": \"QOI\", \"mime\": [\"image/qoi\"], \"extensions\": [\"qoi\"],"
    "  \"uti\": [], \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"716f6966\" } ] } ] } ],"
    " \"options\": ["
    "  { \"key\": \"qoi.strict\", \"type\": \"bool\", \"default\": true, \"scope\": \"decode\","
    "    \"doc\": \"Refuses an image without a proper end marker.\" },"
    "  { \"key\": \"qoi.colorspace\", \"type\": \"enum\", \"values\": [\"image\", \"srgb\", \"linear\"],"
    "    \"default\": \"image\", \"scope\": \"encode\", \"doc\": \"What the file says of its colors.\" } ] } ] }");

enum { HEADER_BYTES = 14, END_BYTES = 8, MAX_OP_BYTES = 5, MAX_RUN = 62, WINDOW_BYTES = 4096 };

static const uint8_t end_marker[END_BYTES] = {0, 0, 0, 0, 0, 0, 0, 1};

/* ---- shared by both directions ---------------------------------------------------------------------------------- */

/* The state of the pixel coding, the same on both sides. */
typedef struct { uint8_t r, g, b, a; } pixel;
typedef struct { pixel last, seen[64]; uint32_t run; } coding;

static const coding coding_start = {.last = {0, 0, 0, 255}};

static uint32_t hash(pixel p) { return (p.r * 3u + p.g * 5u + p.b * 7u + p.a * 11u) % 64u; }

static int same(pixel a, pixel b) { return memcmp(&a, &b, sizeof a) == 0; }

static cpi_status check_size(cpi_session *s, uint64_t width, uint64_t height, cpi_error *error) {
    const cpi_limits *max = &s->limits;
    if (max->max_width && width > max->max_width)
        return cpi_session_over(s, error, CPI_LIMIT_WIDTH, max->max_width, width);
    if (max->max_height && height > max->max_height)
        return cpi_session_over(s, error, CPI_LIMIT_HEIGHT, max->max_height, height);
    if (max->max_pixels && width * height > max->max_pixels)
        return cpi_session_over(s, error, CPI_LIMIT_PIXELS, max->max_pixels, width * height);
    return CPI_OK;
}

static const cpi_pixel_format rgb = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0};
static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0, 0, 0};
static const cpi_pixel_format opaque = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_OPAQUE, 0, 0, 0};

static int same_format(cpi_pixel_format a, cpi_pixel_format b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Offers `index` of the formats for an image with or without alpha, `native` first if it is one of them. */
static cpi_status offer_format(int alpha, cpi_pixel_format native, uint32_t index, cpi_format_offer *offer) {
    const cpi_pixel_format formats[2] = {alpha ? rgba : rgb, opaque};
    const uint32_t         count = alpha ? 1 : 2, first = count == 2 && same_format(native, opaque);
    if (index >= count) return CPI_END;
    cpi_format_offer mine = {.size = sizeof mine, .format = formats[(index + first) % count], .row_align = 1};
    cpi_session_copy(offer, &mine);
    return CPI_OK;
}

static uint32_t bytes_per_pixel(const cpi_surface *surface) {
    return surface->format.channels == CPI_CHANNELS_RGB ? 3 : 4;
}

typedef struct settings {
    int strict;
    int linear; /* -1: as the image says */
} settings;

static int is_word(const cpi_option *option, const char *word) {
    return option->bytes && option->length == strlen(word) && memcmp(option->bytes, word, strlen(word)) == 0;
}

static cpi_status read_options(const cpi_options *options, settings *into, cpi_error *error) {
    const cpi_option *option;
    *into = (settings){.strict = 1, .linear = -1};
    for (uint32_t i = 0; (option = cpi_session_option(options, i)); i++) {
        if (strcmp(option->key, "qoi.strict") == 0) {
            if (option->type != CPI_OPTION_BOOL)
                return cpi_session_fail(NULL, error, CPI_INVALID_ARGUMENT, 0, "qoi.strict is true or false");
            into->strict = option->integer != 0;
        } else if (strcmp(option->key, "qoi.colorspace") == 0) {
            if (is_word(option, "image")) into->linear = -1;
            else if (is_word(option, "srgb")) into->linear = 0;
            else if (is_word(option, "linear")) into->linear = 1;
            else return cpi_session_fail(NULL, error, CPI_INVALID_ARGUMENT, 0,
                                         "qoi.colorspace is image, srgb or linear");
        } else if (!(option->flags & CPI_OPTION_HINT)) {
            return cpi_session_fail(NULL, error, CPI_INVALID_ARGUMENT, 0, "there is no option %.64s", option->key);
        }
    }
    return CPI_OK;
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

enum { HEADER_AND_LATER = CPI_SESSION_HEADER | CPI_SESSION_FRAME | CPI_SESSION_DECODED };

struct cpi_decoder {
    cpi_session       base;
    settings          options;
    uint32_t          width, height, channels, linear;
    coding            coding;
    uint64_t          position; /* of the next operation in the source                       */
    uint32_t          x, y;     /* of the next pixel                                         */
    cpi_rect          dirty;
    uint64_t          window_start; /* for a source that is read piece by piece              */
    uint32_t          window_count;
    uint8_t           window[WINDOW_BYTES];
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder;
    settings   chosen;
    cpi_status status = read_options(options, &chosen, error);
    if (status != CPI_OK) return status;
    cpi_decoder *d = cpi_session_open(services, limits, sizeof *d, error);
    if (!d) return CPI_NO_MEMORY;
    d->options = chosen;
    *decoder   = d;
    return CPI_OK;
}

static void close_decoder(cpi_decoder *d) { cpi_session_close(&d->base); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    cpi_status status = cpi_session_enter(&d->base, CPI_SESSION_OPENED, error);
    if (status != CPI_OK) return status;
    d->base.source     = source;
    d->base.state = CPI_SESSION_SOURCED;
    return CPI_OK;
}

/* Returns the available bytes from `d->position` on: all bytes, or a window if they must be read. */
static cpi_status look(cpi_decoder *d, const uint8_t **bytes, uint64_t *count, cpi_error *error) {
    const cpi_source *source = d->base.source;
    if (source->bytes) {
        uint64_t available = source->available(source->ctx);
        *count             = available > d->position ? available - d->position : 0;
        *bytes             = source->bytes + (*count ? d->position : 0);
        return CPI_OK;
    }
    uint64_t end = d->window_start + d->window_count;
    if (d->position < d->window_start || end < d->position + HEADER_BYTES) {
        uint64_t   copied = 0;
        cpi_status status = source->read_at(source->ctx, d->position, d->window, WINDOW_BYTES, &copied);
        if (status < 0) return cpi_session_fail(&d->base, error, status, d->position, "the source cannot be read");
        d->window_start = d->position;
        d->window_count = copied < WINDOW_BYTES ? (uint32_t)copied : WINDOW_BYTES;
        end             = d->window_start + d->window_count;
    }
    *bytes = d->window + (d->position - d->window_start);
    *count = end - d->position;
    return CPI_OK;
}

static uint32_t be32(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void rewind_pixels(cpi_decoder *d) {
    d->coding   = coding_start;
    d->position = HEADER_BYTES;
    d->x = d->y = 0;
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    cpi_session   *s = &d->base;
    const uint8_t *bytes;
    uint64_t       count;
    cpi_status     status = cpi_session_enter(s, CPI_SESSION_SOURCED, error);
    if (status != CPI_OK) return status;
    int32_t complete = d->base.source->complete(d->base.source->ctx); /* first: bytes may arrive meanwhile */
    if ((status = look(d, &bytes, &count, error)) != CPI_OK) return status;
    if (memcmp(bytes, "qoif", count < 4 ? (size_t)count : 4) != 0)
        return cpi_session_fail(s, error, CPI_NOT_MINE, 0, "this is no QOI");
    if (count < HEADER_BYTES)
        return complete ? cpi_session_fail(s, error, CPI_TRUNCATED, count, "the file ends in its header")
                        : CPI_NEED_INPUT;

    d->width    = be32(bytes + 4);
    d->height   = be32(bytes + 8);
    d->channels = bytes[12];
    d->linear   = bytes[13];
    if (d->width == 0 || d->height == 0) return cpi_session_fail(s, error, CPI_CORRUPT, 4, "the image has no pixels");
    if (d->channels != 3 && d->channels != 4)
        return cpi_session_fail(s, error, CPI_CORRUPT, 12, "the number of channels is neither 3 nor 4");
    if (d->linear > 1) return cpi_session_fail(s, error, CPI_CORRUPT, 13, "the color space is neither 0 nor 1");
    if ((status = check_size(s, d->width, d->height, error)) != CPI_OK) return status;
    rewind_pixels(d);

    cpi_image_info mine = {
        .size        = sizeof mine,
        .flags       = (d->channels == 4 ? CPI_IMAGE_HAS_ALPHA : 0),
        .width       = d->width,
        .height      = d->height,
        .bit_depth   = 8,
        .frame_count = 1,
        .native      = d->channels == 4 ? rgba : rgb,
        /* H.273: primaries of BT.709; transfer of sRGB or linear; no matrix, as the samples are RGB. */
        .color = {.flags = CPI_COLOR_HAS_CICP, .primaries = 1,
                  .transfer = d->linear ? 8 : 13, .matrix = 0, .full_range = 1},
    };
    cpi_session_copy(info, &mine);
    s->state = CPI_SESSION_HEADER;
    return CPI_OK;
}

static cpi_status offer(cpi_decoder *d, uint32_t index, cpi_format_offer *out, cpi_error *error) {
    cpi_status status = cpi_session_enter(&d->base, HEADER_AND_LATER, error);
    return status != CPI_OK ? status : offer_format(d->channels == 4, rgb, index, out);
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    cpi_status status = cpi_session_enter(&d->base, HEADER_AND_LATER, error);
    if (status != CPI_OK) return status;
    if (d->base.state != CPI_SESSION_HEADER) return CPI_END;
    cpi_frame_info mine = {
        .size  = sizeof mine,
        .flags = CPI_FRAME_INDEPENDENT | (d->channels == 4 ? CPI_FRAME_HAS_ALPHA : 0),
        .blend = CPI_BLEND_SOURCE,
        .rect  = {0, 0, d->width, d->height},
    };
    cpi_session_copy(frame, &mine);
    d->base.state = CPI_SESSION_FRAME;
    return CPI_OK;
}

static cpi_status seek_frame(cpi_decoder *d, uint32_t *index, cpi_error *error) {
    cpi_status status = cpi_session_enter(&d->base, HEADER_AND_LATER, error);
    if (status != CPI_OK) return status;
    if (*index != 0) return cpi_session_fail(&d->base, error, CPI_INVALID_ARGUMENT, 0, "there is only frame 0");
    rewind_pixels(d);
    d->base.state = CPI_SESSION_HEADER;
    return CPI_OK;
}

static uint32_t op_bytes(uint8_t op) { return op == 0xff ? 5 : op == 0xfe ? 4 : op >> 6 == 2 ? 2 : 1; }

/* Executes the complete operation at `b`; returns the number of its pixels. */
static uint32_t apply(coding *c, const uint8_t *b) {
    uint32_t pixels = 1;
    pixel   *p      = &c->last;
    if (b[0] == 0xfe || b[0] == 0xff) {
        *p = (pixel){b[1], b[2], b[3], b[0] == 0xff ? b[4] : p->a};
    } else if (b[0] >> 6 == 0) {
        *p = c->seen[b[0]];
    } else if (b[0] >> 6 == 1) {
        p->r = (uint8_t)(p->r + (b[0] >> 4 & 3) - 2);
        p->g = (uint8_t)(p->g + (b[0] >> 2 & 3) - 2);
        p->b = (uint8_t)(p->b + (b[0] & 3) - 2);
    } else if (b[0] >> 6 == 2) {
        int green = (b[0] & 63) - 32;
        p->r      = (uint8_t)(p->r + green + (b[1] >> 4) - 8);
        p->g      = (uint8_t)(p->g + green);
        p->b      = (uint8_t)(p->b + green + (b[1] & 15) - 8);
    } else {
        pixels = (b[0] & 63u) + 1;
    }
    c->seen[hash(*p)] = *p;
    return pixels;
}

/* The bytes ended before the image. Rows from `first` on are new. */
static cpi_status starve(cpi_decoder *d, uint32_t first, int complete, int wants_partial, cpi_error *error) {
    uint32_t rows = d->y + (d->x > 0);
    d->dirty      = (cpi_rect){0, first, rows > first ? d->width : 0, rows > first ? rows - first : 0};
    if (complete) {
        if (wants_partial && rows > 0) return CPI_PARTIAL;
        return cpi_session_fail(&d->base, error, CPI_TRUNCATED, d->position,
                       rows < d->height ? "the file ends before the last row" : "the file ends before its end marker");
    }
    return wants_partial && rows > first ? CPI_PARTIAL : CPI_NEED_INPUT;
}

static cpi_status check_end(cpi_decoder *d, uint32_t first, int wants_partial, cpi_error *error) {
    const uint8_t *bytes;
    uint64_t       count;
    int32_t        complete = d->base.source->complete(d->base.source->ctx);
    cpi_status     status   = look(d, &bytes, &count, error);
    if (status != CPI_OK) return status;
    if (count < END_BYTES && (!complete || d->options.strict)) return starve(d, first, complete, wants_partial, error);
    if (count < END_BYTES || memcmp(bytes, end_marker, END_BYTES) != 0) {
        if (d->options.strict)
            return cpi_session_fail(&d->base, error, CPI_CORRUPT, d->position, "the end marker is missing");
        d->base.services->log(d->base.services->ctx, CPI_LOG_WARNING, "the end marker is missing");
    }
    d->dirty      = (cpi_rect){0, first, d->width, d->height - first};
    d->base.state = CPI_SESSION_DECODED;
    return CPI_OK;
}

static cpi_status decode_pixels(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    const cpi_surface *surface  = request->surface;
    const int          partial  = (request->flags & CPI_DECODE_WANT_PARTIAL) != 0;
    const uint32_t     step     = bytes_per_pixel(surface), first = d->y;
    const uint8_t     *bytes    = NULL;
    uint64_t           left     = 0;
    int32_t            complete = 0;
    for (; d->y < d->height; d->x = 0, d->y++) {
        cpi_status asked = cpi_session_poll(&d->base, d->y, d->height, error);
        if (asked != CPI_OK) return asked;
        uint8_t *out = surface->pixels + d->y * surface->stride + (uint64_t)d->x * step;
        for (; d->x < d->width; d->x++, out += step) {
            if (d->coding.run == 0) {
                if (left == 0 || left < op_bytes(bytes[0])) {
                    complete          = d->base.source->complete(d->base.source->ctx);
                    cpi_status status = look(d, &bytes, &left, error);
                    if (status != CPI_OK) return status;
                    if (left == 0 || left < op_bytes(bytes[0])) return starve(d, first, complete, partial, error);
                }
                uint32_t count = op_bytes(bytes[0]);
                d->coding.run  = apply(&d->coding, bytes);
                if (d->coding.run > (uint64_t)(d->height - d->y) * d->width - d->x)
                    return cpi_session_fail(&d->base, error, CPI_CORRUPT, d->position, "a run passes the last pixel");
                bytes += count;
                left -= count;
                d->position += count;
            }
            d->coding.run--;
            memcpy(out, &d->coding.last, 3);
            /* An image of three channels is opaque, even if its operations contain alpha. */
            if (step == 4) out[3] = d->channels == 4 ? d->coding.last.a : 255;
        }
    }
    return check_end(d, first, partial, error);
}

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    cpi_session *s      = &d->base;
    cpi_status status = cpi_session_enter(s, CPI_SESSION_FRAME | CPI_SESSION_DECODED, error);
    if (status != CPI_OK) return status;
    const cpi_surface *surface = request->surface;
    if (request->region.width || request->scaled_width)
        return cpi_session_fail(s, error, CPI_REFUSED, 0, "only whole images are decoded");
    const cpi_pixel_format format = d->channels == 4 ? rgba : bytes_per_pixel(surface) == 4 ? opaque : rgb;
    status = cpi_session_surface(s, surface, format, d->width, d->height, error);
    if (status != CPI_OK) return status;
    if (s->state == CPI_SESSION_DECODED) rewind_pixels(d);
    s->state = CPI_SESSION_FRAME;
    return decode_pixels(d, request, error);
}

/* This coder has no extension, so every id is unknown to it. */
static const void *get_from_decoder(cpi_decoder *d, const char *id) { return (void)d, (void)id, NULL; }

static cpi_status dirty(cpi_decoder *d, cpi_rect *rect, cpi_error *error) {
    cpi_status status = cpi_session_enter(&d->base, CPI_SESSION_FRAME | CPI_SESSION_DECODED, error);
    if (status == CPI_OK) *rect = d->dirty;
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
    .get         = get_from_decoder,
    .dirty = dirty,
};

/* ---- encoding --------------------------------------------------------------------------------------------------- */

struct cpi_encoder {
    cpi_session      base;
    settings         options;
    uint32_t         width, height, linear;
    cpi_pixel_format format;
    uint32_t         used;
    uint8_t          out[WINDOW_BYTES];
};

static cpi_status open_encoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_encoder **encoder, cpi_error *error) {
    (void)coder;
    settings   chosen;
    cpi_status status = read_options(options, &chosen, error);
    if (status != CPI_OK) return status;
    cpi_encoder *e = cpi_session_open(services, limits, sizeof *e, error);
    if (!e) return CPI_NO_MEMORY;
    e->options = chosen;
    *encoder   = e;
    return CPI_OK;
}

static void close_encoder(cpi_encoder *e) { cpi_session_close(&e->base); }

static int needs_alpha(const cpi_image_info *info) {
    return (info->flags & CPI_IMAGE_HAS_ALPHA) != 0 || info->native.alpha == CPI_ALPHA_STRAIGHT
        || info->native.alpha == CPI_ALPHA_PREMULTIPLIED;
}

static cpi_status accept(cpi_encoder *e, const cpi_image_info *info, uint32_t index, cpi_format_offer *out,
                         cpi_error *error) {
    cpi_status status = cpi_session_enter(&e->base, CPI_SESSION_OPENED, error);
    return status != CPI_OK ? status : offer_format(needs_alpha(info), info->native, index, out);
}

static cpi_status begin(cpi_encoder *e, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error) {
    cpi_session *s      = &e->base;
    cpi_status status = cpi_session_enter(s, CPI_SESSION_OPENED, error);
    if (status != CPI_OK) return status;
    if (info->width == 0 || info->height == 0)
        return cpi_session_fail(s, error, CPI_INVALID_ARGUMENT, 0, "the image has no pixels");
    if (info->frame_count > 1) return cpi_session_fail(s, error, CPI_UNSUPPORTED, 0, "more than one frame");
    if (!same_format(info->native, rgb) && !same_format(info->native, rgba) && !same_format(info->native, opaque))
        return cpi_session_fail(s, error, CPI_MISUSE, 0, "the pixel format was not accepted");
    if ((status = check_size(s, info->width, info->height, error)) != CPI_OK) return status;
    e->linear = e->options.linear >= 0 ? (uint32_t)e->options.linear
                                       : (info->color.flags & CPI_COLOR_HAS_CICP) && info->color.transfer == 8;
    e->base.sink   = sink;
    e->width  = info->width;
    e->height = info->height;
    e->format = info->native;
    s->state  = CPI_SESSION_BEGUN;
    return CPI_OK;
}

static cpi_status flush(cpi_encoder *e, cpi_error *error) {
    cpi_status status = cpi_session_write(&e->base, e->out, e->used, error);
    e->used           = 0;
    return status;
}

static void put(cpi_encoder *e, uint32_t byte) { e->out[e->used++] = (uint8_t)byte; }

static void put_pixel(cpi_encoder *e, coding *c, pixel p) {
    const pixel    before = c->last;
    const uint32_t place  = hash(p);
    const int      r = (int8_t)(p.r - before.r), g = (int8_t)(p.g - before.g), b = (int8_t)(p.b - before.b);
    if (same(c->seen[place], p)) {
        put(e, place);
    } else if (p.a != before.a) {
        put(e, 0xff), put(e, p.r), put(e, p.g), put(e, p.b), put(e, p.a);
    } else if (r >= -2 && r <= 1 && g >= -2 && g <= 1 && b >= -2 && b <= 1) {
        put(e, 0x40u | (uint32_t)(r + 2) << 4 | (uint32_t)(g + 2) << 2 | (uint32_t)(b + 2));
    } else if (g >= -32 && g <= 31 && r - g >= -8 && r - g <= 7 && b - g >= -8 && b - g <= 7) {
        put(e, 0x80u | (uint32_t)(g + 32)), put(e, (uint32_t)(r - g + 8) << 4 | (uint32_t)(b - g + 8));
    } else {
        put(e, 0xfe), put(e, p.r), put(e, p.g), put(e, p.b);
    }
    c->seen[place] = c->last = p;
}

static void put_run(cpi_encoder *e, coding *c) {
    if (c->run) put(e, 0xc0u | (c->run - 1));
    c->run = 0;
}

static cpi_status add_frame(cpi_encoder *e, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error) {
    (void)frame;
    cpi_session *s      = &e->base;
    cpi_status status = cpi_session_enter(s, CPI_SESSION_BEGUN, error);
    if (status != CPI_OK) return status;
    status = cpi_session_surface(s, surface, e->format, e->width, e->height, error);
    if (status != CPI_OK) return status;

    const uint32_t step  = bytes_per_pixel(surface);
    const int      alpha = surface->format.alpha == CPI_ALPHA_STRAIGHT;
    coding         c     = coding_start;
    for (const char *p = "qoif"; *p; p++) put(e, (uint8_t)*p);
    for (int shift = 24; shift >= 0; shift -= 8) put(e, e->width >> shift & 255);
    for (int shift = 24; shift >= 0; shift -= 8) put(e, e->height >> shift & 255);
    put(e, alpha ? 4 : 3), put(e, e->linear);
    for (uint32_t y = 0; y < e->height; y++) {
        if ((status = cpi_session_poll(s, y, e->height, error)) != CPI_OK) return status;
        const uint8_t *in = surface->pixels + y * surface->stride;
        for (uint32_t x = 0; x < e->width; x++, in += step) {
            const pixel p = {in[0], in[1], in[2], alpha ? in[3] : 255};
            if (e->used > WINDOW_BYTES - 2 * MAX_OP_BYTES && (status = flush(e, error)) != CPI_OK) return status;
            if (same(p, c.last)) {
                if (++c.run == MAX_RUN) put_run(e, &c);
            } else {
                put_run(e, &c);
                put_pixel(e, &c, p);
            }
        }
    }
    put_run(e, &c);
    s->state = CPI_SESSION_FRAMED;
    return CPI_OK;
}

static cpi_status finish(cpi_encoder *e, cpi_error *error) {
    cpi_status status = cpi_session_enter(&e->base, CPI_SESSION_FRAMED, error);
    if (status != CPI_OK) return status;
    if ((status = flush(e, error)) != CPI_OK) return status;
    for (int i = 0; i < END_BYTES; i++) put(e, end_marker[i]);
    if ((status = flush(e, error)) != CPI_OK) return status;
    e->base.state = CPI_SESSION_FINISHED;
    return CPI_OK;
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

static const cpi_coder qoi = {
    .size    = sizeof(cpi_coder),
    .roles   = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL | QOI_MORE_ROLE_BITS,
    .id      = "org.example.qoi",
    .decoder = &decoder_api,
    .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &qoi : NULL; }

static const void *get(const char *id) { return (void)id, NULL; }

static const cpi_plugin plugin = {
    .size             = sizeof(cpi_plugin),
    .abi_minor_built  = CPI_TARGET_MINOR,
    .abi_minor_needed = 0,
    .concurrency      = CPI_CONCURRENCY_ANY,
    .id               = "org.example.qoi-plugin",
    .version          = "1.0.0",
    .coder_count      = 1,
    .coder            = coder,
    .get              = get,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
