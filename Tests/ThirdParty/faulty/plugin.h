/*
 * plugin.h - a plugin that keeps the whole contract, for a format as simple as can be. Each file beside it defines one
 * of the macros below and so breaks one rule; the conformance kit has to find it with the check that is meant for it.
 *
 *     header   "flt!" | width 2 | height 2, big-endian | channels 1: 3 or 4
 *     pixels   row by row from the top
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <coder_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MANIFEST_THREADS
#define MANIFEST_THREADS "0"
#endif
#ifdef ITEM_ROLE
#define MANIFEST_ROLES ", \"items\""
#define MORE_ROLES     CPI_CODER_ITEMS
#ifndef HAS_ITEMS
#define HAS_ITEMS CPI_IMAGE_ITEMS
#endif
#else
#define HAS_ITEMS 0
#endif
#if defined REWRITES && defined ITEM_ROLE
#undef MANIFEST_ROLES
#undef MORE_ROLES
#define MANIFEST_ROLES ", \"items\", \"rewrite\""
#define MORE_ROLES     (CPI_CODER_ITEMS | CPI_CODER_REWRITE)
#elif defined REWRITES
#define MANIFEST_ROLES ", \"rewrite\""
#define MORE_ROLES     CPI_CODER_REWRITE
#endif
#ifndef OUTCOME_FLAGS
#define OUTCOME_FLAGS 0
#endif
#ifndef KEPT_WIDTH
#define KEPT_WIDTH(width) (width)
#endif
#ifndef OFFER_FLAGS /* of the formats that the encoder accepts */
#define OFFER_FLAGS 0
#endif
#ifndef BLOB_KIND
#define BLOB_KIND CPI_BLOB_RAW
#endif
#ifndef COPIES_TEXT
#define COPIES_TEXT 1
#endif
#ifdef TRANSCODES
#define MANIFEST_ROLES ", \"transcode\"], \"transcodes\": [\"pam\""
#define MORE_ROLES     CPI_CODER_TRANSCODE
#endif
#ifndef MANIFEST_ROLES
#define MANIFEST_ROLES ""
#define MORE_ROLES     0
#endif
#ifndef CONCURRENCY
#define CONCURRENCY CPI_CONCURRENCY_ANY
#endif
#ifndef MANIFEST_VERSION
#define MANIFEST_VERSION "1.0.0"
#endif
#ifndef MANIFEST_METADATA
#define MANIFEST_METADATA ""
#endif
#ifndef SIGNATURE
#define SIGNATURE "666c7421"
#endif
CPI_MANIFEST("{ \"schema\": 1, \"plugin\": { \"id\": \"org.example.faulty-plugin\", \"version\": \"" MANIFEST_VERSION "\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": 0, \"minor_needed\": 0 }, \"concurrency\": \"any\","
    " \"isolation\": { \"threads\": " MANIFEST_THREADS " }, \"coders\": [ { \"id\": \"org.example.faulty\","
    " \"roles\": [\"decode\", \"encode\", \"incremental\"" MANIFEST_ROLES "], \"metadata\": [" MANIFEST_METADATA "],"
    " \"formats\": [ { \"id\": \"faulty\", \"extensions\": [\"flt\"],"
    " \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"" SIGNATURE "\" } ] } ] } ] } ] }");

/* Where a fault can stand: statements, empty in a plugin that has none there. */
#ifndef ON_INIT
#define ON_INIT
#endif
#ifndef ON_OPEN
#define ON_OPEN
#endif
#ifndef ON_CLOSE
#define ON_CLOSE
#endif
#ifndef ON_UNKNOWN_OPTION /* `services` */
#define ON_UNKNOWN_OPTION
#endif
#ifndef ON_SET_SOURCE
#define ON_SET_SOURCE
#endif
#ifndef ON_DECODE
#define ON_DECODE
#endif
#ifndef AFTER_ROW /* `row` and `bytes` */
#define AFTER_ROW
#endif
#ifndef AFTER_DECODE
#define AFTER_DECODE
#endif
#ifndef CHANGE_INFO /* `info`, which goes to the host */
#define CHANGE_INFO
#endif
#ifndef CHANGE_FRAME /* `frame`, which goes to the host */
#define CHANGE_FRAME
#endif
#ifndef AFTER_IMAGE /* statements with `e` and `error`, behind the last row of an encoded image */
#define AFTER_IMAGE
#endif
/* What is answered instead of the truth. */
#ifndef POLL
#define POLL(services) ((services)->poll((services)->ctx))
#endif
#ifndef FRAME_WIDTH
#define FRAME_WIDTH(width) (width)
#endif
#ifndef FRAME_X
#define FRAME_X 0
#endif
#ifndef SOURCE_ANSWER
#define SOURCE_ANSWER CPI_OK
#endif
#ifndef LOOKS_AT_REGION
#define LOOKS_AT_REGION 1
#endif
#ifndef BANDS /* whether it decodes in bands of rows */
#define BANDS 0
#endif
#ifndef PART_X /* the first column of a part, and the row of the image that stands in row `y` of a part */
#define PART_X part.x
#endif
#ifndef PART_Y
#define PART_Y (part.y + y)
#endif
#ifndef KEEPS_REFUSAL
#define KEEPS_REFUSAL 0
#endif
#ifndef BAND_HEADER /* bytes of the header of a file that came in bands */
#define BAND_HEADER HEADER_BYTES
#endif
#ifndef PAINTED /* what a task of the host's threads makes of a sample, by `thread` */
#define PAINTED(value, thread) (value)
#endif
#ifndef COPIED /* what a rewrite makes of byte `at` of an image */
#define COPIED(value, at) (value)
#endif
#ifndef REMOVES_TEXT
#define REMOVES_TEXT 1
#endif
#ifndef WHEN_CUT /* what a rewrite does with an image that ends too early */
#define WHEN_CUT return fail(NULL, error, CPI_TRUNCATED, "the image ends too early");
#endif
#ifndef UNPACKED /* how many bytes of those that were packed are given back */
#define UNPACKED(count) (count)
#endif
#ifndef DIRTY_STATES
#define DIRTY_STATES (FRAME | DECODED)
#endif
#ifndef KEEPS_LIMITS
#define KEEPS_LIMITS 1
#endif
#ifndef KEEPS_FAILURE
#define KEEPS_FAILURE 1
#endif
#ifndef RELEASES
#define RELEASES 1
#endif
#ifndef SURVIVES_NO_MEMORY
#define SURVIVES_NO_MEMORY 1
#endif
#ifndef SAMPLE
#define SAMPLE(value) (value)
#endif
#ifndef WHEN_SHORT /* the answer to a file that ends too early */
#define WHEN_SHORT CPI_TRUNCATED
#endif
#ifndef STRUCT_SIZE /* bytes of a struct that the host handed over to be filled */
#define STRUCT_SIZE(theirs, ours) ((theirs) < (ours) ? (theirs) : (ours))
#endif
#ifndef EXTENSION
#define EXTENSION(id) NULL
#endif
#ifndef FRAMES /* the image is shown that often */
#define FRAMES 1
#endif
#ifndef TOO_MANY_FRAMES /* the answer where fewer are allowed */
#define TOO_MANY_FRAMES(d, error)                                                                                      \
    fail_limit(&(d)->base, error, CPI_LIMIT, "too many frames", CPI_LIMIT_FRAMES, (d)->base.limits.max_frames, FRAMES)
#endif
#ifndef REPORTED_VERSION
#define REPORTED_VERSION MANIFEST_VERSION
#endif

enum { HEADER_BYTES = 9, ROWS_PER_POLL = 64 };
enum { OPENED = 1, SOURCED = 2, HEADER = 4, FRAME = 8, DECODED = 16, BEGUN = 32, FRAMED = 64, FINISHED = 128 };

typedef struct session {
    const cpi_services *services;
    cpi_limits          limits;
    unsigned            state;
    cpi_error           failure;
} session;

static void copy_struct(void *to, const void *from) {
    uint32_t theirs, ours;
    memcpy(&theirs, to, sizeof theirs);
    memcpy(&ours, from, sizeof ours);
    uint32_t count = STRUCT_SIZE(theirs, ours);
    if (count > 4) memcpy((char *)to + 4, (const char *)from + 4, count - 4);
}

/* Reads a struct of the host, which may be shorter. */
static void read_struct(void *to, uint32_t ours, const void *from) {
    uint32_t theirs;
    memcpy(&theirs, from, sizeof theirs);
    memset(to, 0, ours);
    memcpy(to, from, theirs < ours ? theirs : ours);
}

static cpi_status fail_limit(session *s, cpi_error *error, cpi_status code, const char *text, uint32_t id,
                             uint64_t allowed, uint64_t requested) {
    cpi_error failure = {.size = sizeof failure, .code = code, .limit_id = id, .limit_allowed = allowed,
                         .limit_requested = requested};
    snprintf(failure.message, sizeof failure.message, "%s", text);
    copy_struct(error, &failure);
    if (s && KEEPS_FAILURE && (code < 0 || KEEPS_REFUSAL)) s->failure = failure;
    return code;
}

static cpi_status fail(session *s, cpi_error *error, cpi_status code, const char *text) {
    return fail_limit(s, error, code, text, 0, 0, 0);
}

static cpi_status enter(session *s, unsigned states, cpi_error *error) {
    if (s->failure.code != 0) {
        copy_struct(error, &s->failure);
        return s->failure.code;
    }
    return s->state & states ? CPI_OK : fail(s, error, CPI_MISUSE, "the call is out of sequence");
}

static cpi_status go_on(session *s, cpi_error *error) {
    cpi_status answer = POLL(s->services);
    return answer == CPI_CONTINUE ? CPI_OK : fail(s, error, answer, "the host asked to stop");
}

static cpi_status check_options(const cpi_services *services, const cpi_options *options, cpi_error *error) {
    (void)services;
    for (uint32_t i = 0; options && i < options->count; i++) {
        const cpi_option *option = (const void *)((const char *)options->items + i * options->stride);
        if (option->flags & CPI_OPTION_HINT) continue;
        ON_UNKNOWN_OPTION
        return fail(NULL, error, CPI_INVALID_ARGUMENT, "there are no options");
    }
    return CPI_OK;
}

static void *open_session(size_t count, const cpi_services *services, const cpi_limits *limits,
                          const cpi_options *options, cpi_status *status, cpi_error *error) {
    if ((*status = check_options(services, options, error)) != CPI_OK) return NULL;
    ON_OPEN
    session *s = services->allocate(services->ctx, count);
    if (!s && SURVIVES_NO_MEMORY) {
        *status = fail(NULL, error, CPI_NO_MEMORY, "no memory for a session");
        return NULL;
    }
    memset(s, 0, count);
    s->services = services;
    s->state    = OPENED;
    read_struct(&s->limits, sizeof s->limits, limits);
    return s;
}

static void close_session(session *s) {
    ON_CLOSE
    if (RELEASES) s->services->release(s->services->ctx, s);
}

static const cpi_pixel_format rgb = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0};
static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0, 0, 0};

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

struct cpi_decoder {
    session           base;
    const cpi_source *source;
    uint32_t          width, height, full_height, channels, rows_done, part_rows, frame;
    cpi_rect          dirty;
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    cpi_status status = CPI_OK;
    (void)coder;
    *decoder = open_session(sizeof **decoder, services, limits, options, &status, error);
    return status;
}

static void close_decoder(cpi_decoder *d) { close_session(&d->base); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    cpi_status status = enter(&d->base, OPENED, error);
    if (status != CPI_OK) return status;
    d->source     = source;
    d->base.state = SOURCED;
    ON_SET_SOURCE
    return SOURCE_ANSWER;
}

/* Copies exactly `count` bytes; CPI_NEED_INPUT or an error when they are not there. */
static cpi_status take(cpi_decoder *d, uint64_t offset, uint8_t *buffer, uint64_t count, cpi_error *error) {
    int32_t    complete = d->source->complete(d->source->ctx);
    uint64_t   copied   = 0;
    cpi_status status   = d->source->read_at(d->source->ctx, offset, buffer, count, &copied);
    if (status < 0) return fail(&d->base, error, status, "the source cannot be read");
    if (copied == count) return CPI_OK;
    if (!complete) return CPI_NEED_INPUT;
    return WHEN_SHORT < 0 ? fail(&d->base, error, WHEN_SHORT, "the file ends too early") : WHEN_SHORT;
}

static cpi_status check_size(cpi_decoder *d, cpi_error *error) {
    const cpi_limits *limits = &d->base.limits;
    const uint64_t    pixels = (uint64_t)d->width * d->height;
    if (!KEEPS_LIMITS) return CPI_OK;
    if (limits->max_width && d->width > limits->max_width)
        return fail_limit(&d->base, error, CPI_LIMIT, "too wide", CPI_LIMIT_WIDTH, limits->max_width, d->width);
    if (limits->max_height && d->height > limits->max_height)
        return fail_limit(&d->base, error, CPI_LIMIT, "too high", CPI_LIMIT_HEIGHT, limits->max_height, d->height);
    if (limits->max_pixels && pixels > limits->max_pixels)
        return fail_limit(&d->base, error, CPI_LIMIT, "too many pixels", CPI_LIMIT_PIXELS, limits->max_pixels, pixels);
    return CPI_OK;
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *out, cpi_error *error) {
    uint8_t    b[HEADER_BYTES];
    cpi_status status = enter(&d->base, SOURCED, error);
    if (status != CPI_OK) return status;
    if ((status = take(d, 0, b, sizeof b, error)) != CPI_OK) return status;
    if (memcmp(b, "flt!", 4) != 0) return fail(&d->base, error, CPI_NOT_MINE, "it begins otherwise");
    d->width    = (uint32_t)b[4] << 8 | b[5];
    d->height   = (uint32_t)b[6] << 8 | b[7];
    d->channels = b[8];
    d->full_height = d->height;
    if (d->width == 0 || d->height == 0) return fail(&d->base, error, CPI_CORRUPT, "no pixels");
    if (d->channels != 3 && d->channels != 4) return fail(&d->base, error, CPI_CORRUPT, "neither 3 nor 4 channels");
    if ((status = check_size(d, error)) != CPI_OK) return status;
    cpi_image_info mine = {
        .size = sizeof mine, .flags = (d->channels == 4 ? CPI_IMAGE_HAS_ALPHA : 0)
            | (FRAMES > 1 ? CPI_IMAGE_ANIMATED : 0) | (BANDS ? CPI_IMAGE_ROWS : 0) | HAS_ITEMS,
        .width = d->width, .height = d->height, .bit_depth = 8, .frame_count = FRAMES,
        .native = d->channels == 4 ? rgba : rgb,
    };
    cpi_image_info *info = &mine;
    (void)info;
    CHANGE_INFO
    copy_struct(out, &mine);
    d->base.state = HEADER;
    return CPI_OK;
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *out, cpi_error *error) {
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (d->base.state != HEADER && ++d->frame >= FRAMES) return CPI_END;
    if (d->base.limits.max_frames && d->frame >= d->base.limits.max_frames) return TOO_MANY_FRAMES(d, error);
    cpi_frame_info mine = {
        .size = sizeof mine, .index = d->frame, .flags = CPI_FRAME_INDEPENDENT | (d->channels == 4 ? CPI_FRAME_HAS_ALPHA : 0),
        .rect = {FRAME_X, 0, FRAME_WIDTH(d->width), d->height},
    };
    cpi_frame_info *frame = &mine;
    (void)frame;
    CHANGE_FRAME
    copy_struct(out, &mine);
    d->base.state = FRAME;
    d->rows_done  = 0;
    return CPI_OK;
}

/* Decodes a part: any rectangle with the role region, bands of rows with BANDS. */
static cpi_status decode_part(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    const cpi_rect     part     = request->region;
    const cpi_surface *surface  = request->surface;
    const int          is_whole = part.x == 0 && part.width == d->width;
    if (!(MORE_ROLES & CPI_CODER_REGION) && !(BANDS && is_whole))
        return fail(&d->base, error, CPI_REFUSED, "only whole images are decoded");
    if (part.x < 0 || part.y < 0 || part.width > d->width - (uint64_t)part.x || (uint32_t)part.x > d->width
        || part.height > d->height - (uint64_t)part.y || (uint32_t)part.y > d->height)
        return fail(&d->base, error, CPI_REFUSED, "the region is outside of the image");
    if (!surface->pixels || surface->width != part.width || surface->height != part.height)
        return fail(&d->base, error, CPI_MISUSE, "the surface has not the region's shape");
    for (uint32_t y = 0; y < part.height; y++) {
        const uint64_t start  = (uint64_t)(PART_Y) * d->width + (PART_X);
        uint8_t       *row    = surface->pixels + y * surface->stride;
        cpi_status     status = go_on(&d->base, error);
        if (status == CPI_OK)
            status = take(d, HEADER_BYTES + start * d->channels, row, (uint64_t)part.width * d->channels, error);
        if (status != CPI_OK) return status;
        d->part_rows++;
    }
    d->dirty = (cpi_rect){0, 0, part.width, part.height};
    return CPI_OK;
}

#ifdef PARALLEL /* it paints with the host's threads */
static const cpi_parallel_api *threads;

static cpi_status paint(void *arg, uint32_t index, uint32_t thread) {
    const cpi_surface *surface = arg;
    const uint64_t     bytes = surface->width * (surface->format.channels == CPI_CHANNELS_RGBA ? 4u : 3u);
    uint8_t           *row = surface->pixels + index * surface->stride;
    (void)thread;
    for (uint64_t i = 0; i < bytes; i++) row[i] = (uint8_t)(PAINTED(row[i], thread) ^ 0xFF);
    return CPI_OK;
}

/* Inverts the pixels on the host's threads, and once more on this one. */
#undef AFTER_DECODE
#define AFTER_DECODE                                                                                                   \
    if (threads) {                                                                                                     \
        cpi_surface target = *surface;                                                                                 \
        if ((status = threads->run(d->base.services, d->height, paint, &target)) != CPI_OK)                            \
            return fail(&d->base, error, status, "a task failed");                                                     \
        for (uint32_t y = 0; y < d->height; y++)                                                                       \
            for (uint64_t i = 0; i < bytes; i++) surface->pixels[y * surface->stride + i] ^= 0xFF;                     \
    }
#endif

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    cpi_status status = enter(&d->base, FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (d->base.state == DECODED) d->rows_done = 0;
    const cpi_surface *surface = request->surface;
    const cpi_rect     region  = request->region;
    if (LOOKS_AT_REGION && (region.width || region.height)) return decode_part(d, request, error);
    if (LOOKS_AT_REGION && (request->scaled_width || request->scaled_height))
        return fail(&d->base, error, CPI_REFUSED, "only whole images are decoded");
    const uint64_t bytes = (uint64_t)d->width * d->channels;
    if (!surface->pixels || surface->width != FRAME_WIDTH(d->width) || surface->height != d->height
        || surface->format.channels != (d->channels == 4 ? rgba : rgb).channels || surface->stride < bytes
        || surface->byte_count < (d->height - 1) * surface->stride + bytes)
        return fail(&d->base, error, CPI_MISUSE, "the surface has not the image's shape");
    const uint32_t first = d->rows_done;
    ON_DECODE
    for (; d->rows_done < d->height; d->rows_done++) {
        uint32_t y   = d->rows_done;
        uint8_t *row = surface->pixels + y * surface->stride;
        if (y % ROWS_PER_POLL == 0 && (status = go_on(&d->base, error)) != CPI_OK) return status;
        if ((status = take(d, HEADER_BYTES + y * bytes, row, bytes, error)) != CPI_OK) {
            d->dirty = (cpi_rect){0, (int32_t)first, d->width, y - first};
            const int is_wanted = (request->flags & CPI_DECODE_WANT_PARTIAL) != 0;
            return status == CPI_NEED_INPUT && y > first && is_wanted ? CPI_PARTIAL : status;
        }
        for (uint64_t i = 0; i < bytes; i++) row[i] = (uint8_t)SAMPLE(row[i]);
        AFTER_ROW
    }
    AFTER_DECODE
    d->dirty      = (cpi_rect){0, (int32_t)first, d->width, d->height - first};
    d->base.state = DECODED;
    return CPI_OK;
}

static cpi_status dirty(cpi_decoder *d, cpi_rect *rect, cpi_error *error) {
    cpi_status status = enter(&d->base, DIRTY_STATES, error);
    if (status == CPI_OK) *rect = d->dirty;
    return status;
}

#ifdef REWRITES /* text may stand behind the pixels */
#define HAND_OUT hand_out
static cpi_status hand_out(cpi_decoder *d, uint32_t index, cpi_blob *blob, cpi_error *error) {
    static _Thread_local uint8_t text[256];
    uint64_t   copied = 0, offset = HEADER_BYTES + (uint64_t)d->width * d->height * d->channels;
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK || index > 0) return status != CPI_OK ? status : CPI_END;
    if (!d->source->complete(d->source->ctx)) return CPI_NEED_INPUT;
    if ((status = d->source->read_at(d->source->ctx, offset, text, sizeof text, &copied)) < 0)
        return fail(&d->base, error, status, "the source cannot be read");
    if (copied == 0) return CPI_END;
    if (d->base.limits.max_metadata_bytes && copied > d->base.limits.max_metadata_bytes)
        return fail_limit(&d->base, error, CPI_LIMIT, "too much text", CPI_LIMIT_METADATA_BYTES,
                          d->base.limits.max_metadata_bytes, copied);
    const cpi_blob mine = {.size = sizeof mine, .kind = CPI_BLOB_TEXT, .key = "Comment", .bytes = text, .length = copied};
    copy_struct(blob, &mine);
    return CPI_OK;
}
#elif defined BLOB_BYTES
#define HAND_OUT hand_out
static cpi_status hand_out(cpi_decoder *d, uint32_t index, cpi_blob *blob, cpi_error *error) {
    static const uint8_t text[BLOB_BYTES];
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK || index > 0) return status != CPI_OK ? status : CPI_END;
    if (BLOB_KIND != CPI_BLOB_RAW && d->base.limits.max_metadata_bytes && sizeof text > d->base.limits.max_metadata_bytes)
        return fail_limit(&d->base, error, CPI_LIMIT, "too much metadata", CPI_LIMIT_METADATA_BYTES,
                          d->base.limits.max_metadata_bytes, sizeof text);
    const cpi_blob mine = {.size = sizeof mine, .kind = BLOB_KIND, .bytes = text, .length = sizeof text};
    copy_struct(blob, &mine);
    return CPI_OK;
}
#elif !defined HAND_OUT /* a function that hands out metadata */
#define HAND_OUT NULL
#endif

#ifdef ITEM_ROLE /* it has items: the image itself, in this role, and its upper half as a page */
#ifndef DESCRIBED /* the item that is described, or chosen, in place of item `i` */
#define DESCRIBED(i) (i)
#endif
#ifndef CHOSEN
#define CHOSEN(i) (i)
#endif
#ifndef BEHIND_ITEMS
#define BEHIND_ITEMS CPI_END
#endif
static uint32_t height_of(const cpi_decoder *d, uint32_t index) {
    return index == 0 ? d->full_height : (d->full_height + 1) / 2;
}

static cpi_status describe(cpi_decoder *d, uint32_t index, cpi_item *item, cpi_image_info *info, cpi_error *error) {
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK || index > 1) return status != CPI_OK ? status : BEHIND_ITEMS;
    const cpi_item       mine  = {.size = sizeof mine, .role = index == 0 ? ITEM_ROLE : CPI_ITEM_PAGE,
                                  .of = CPI_ITEM_NONE};
    const cpi_image_info facts = {.size = sizeof facts, .width = d->width, .height = height_of(d, DESCRIBED(index)),
                                  .bit_depth = 8, .frame_count = FRAMES, .native = d->channels == 4 ? rgba : rgb};
    copy_struct(item, &mine);
    copy_struct(info, &facts);
    return CPI_OK;
}

static cpi_status choose(cpi_decoder *d, uint32_t index, cpi_error *error) {
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (index > 1) return fail(&d->base, error, CPI_REFUSED, "there are two items");
    d->base.state = HEADER;
    d->frame      = 0;
    d->height     = height_of(d, CHOSEN(index));
    return CPI_OK;
}

static const cpi_items_api items = {{sizeof items, 1, CPI_EXT_ITEMS_TAG}, describe, choose, NULL};
#undef EXTENSION
#define EXTENSION(id) (strcmp(id, CPI_EXT_ITEMS) == 0 ? &items : NULL)
#endif

static const void *get_from_decoder(cpi_decoder *d, const char *id) { return (void)d, (void)id, EXTENSION(id); }

static const cpi_decoder_api decoder_api = {
    .size = sizeof(cpi_decoder_api), .open = open_decoder, .close = close_decoder, .set_source = set_source,
    .read_header = read_header, .next_frame = next_frame, .decode = decode, .dirty = dirty, .blob = HAND_OUT,
    .get = get_from_decoder,
};

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

struct cpi_encoder {
    session         base;
    const cpi_sink *sink;
    uint32_t        width, height, channels, rows_added;
    int             in_bands;
};

static cpi_status open_encoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_encoder **encoder, cpi_error *error) {
    cpi_status status = CPI_OK;
    (void)coder;
    *encoder = open_session(sizeof **encoder, services, limits, options, &status, error);
    return status;
}

static void close_encoder(cpi_encoder *e) { close_session(&e->base); }

static cpi_status accept_format(cpi_encoder *e, const cpi_image_info *info, uint32_t index, cpi_format_offer *offer,
                         cpi_error *error) {
    cpi_status status = enter(&e->base, OPENED, error);
    if (status != CPI_OK) return status;
    if (index > 0) return CPI_END;
    const int alpha = (info->flags & CPI_IMAGE_HAS_ALPHA) != 0;
    const cpi_format_offer mine = {.size = sizeof mine, .flags = OFFER_FLAGS, .format = alpha ? rgba : rgb,
                                  .row_align = 1};
    copy_struct(offer, &mine);
    return CPI_OK;
}

static cpi_status write_out(cpi_encoder *e, const uint8_t *bytes, uint64_t count, cpi_error *error) {
    cpi_status status = e->sink->write(e->sink->ctx, bytes, count);
    return status < 0 ? fail(&e->base, error, status, "the output cannot be written") : CPI_OK;
}

static cpi_status begin(cpi_encoder *e, const cpi_image_info *info, const cpi_sink *sink, cpi_error *error) {
    cpi_status status = enter(&e->base, OPENED, error);
    if (status != CPI_OK) return status;
    const uint8_t channels = info->native.channels;
    if (channels != CPI_CHANNELS_RGB && channels != CPI_CHANNELS_RGBA)
        return fail(&e->base, error, CPI_INVALID_ARGUMENT, "this pixel format was not offered");
    if (info->width - 1 > 65534 || info->height - 1 > 65534)
        return fail(&e->base, error, CPI_INVALID_ARGUMENT, "1 to 65535 pixels");
    e->width      = info->width;
    e->height     = info->height;
    e->channels   = channels == CPI_CHANNELS_RGBA ? 4 : 3;
    e->sink       = sink;
    e->base.state = BEGUN;
    return CPI_OK;
}

static cpi_status add_frame(cpi_encoder *e, const cpi_frame_info *frame, const cpi_surface *surface,
                            cpi_error *error) {
    cpi_status status = enter(&e->base, BEGUN, error);
    if (status != CPI_OK) return status;
    (void)frame;
    const uint8_t header[HEADER_BYTES] = {'f', 'l', 't', '!', (uint8_t)(e->width >> 8), (uint8_t)e->width,
                                          (uint8_t)(e->height >> 8), (uint8_t)e->height, (uint8_t)e->channels};
    if (!surface->pixels || surface->width != e->width || surface->height != e->height)
        return fail(&e->base, error, CPI_MISUSE, "the surface has not the image's shape");
    if ((status = write_out(e, header, sizeof header, error)) != CPI_OK) return status;
    for (uint32_t y = 0; y < e->height; y++) {
        if (y % ROWS_PER_POLL == 0 && (status = go_on(&e->base, error)) != CPI_OK) return status;
        const uint8_t *row = surface->pixels + y * surface->stride;
        if ((status = write_out(e, row, (uint64_t)e->width * e->channels, error)) != CPI_OK) return status;
    }
    AFTER_IMAGE
    e->base.state = FRAMED;
    return CPI_OK;
}

static cpi_status finish(cpi_encoder *e, cpi_error *error) {
    cpi_status status = enter(&e->base, FRAMED, error);
    if (status != CPI_OK) return status;
    e->base.state = FINISHED;
    return CPI_OK;
}

#ifdef TAKES_ROWS
static cpi_status begin_rows(cpi_encoder *e, const cpi_frame_info *frame, uint32_t *rows, cpi_error *error) {
    cpi_status status = enter(&e->base, BEGUN, error);
    if (status != CPI_OK) return status;
    (void)frame;
    const uint8_t header[HEADER_BYTES + 1] = {'f', 'l', 't', '!', (uint8_t)(e->width >> 8), (uint8_t)e->width,
                                              (uint8_t)(e->height >> 8), (uint8_t)e->height, (uint8_t)e->channels};
    *rows       = 4;
    e->in_bands = 1;
    return write_out(e, header, BAND_HEADER, error);
}

static cpi_status add_rows(cpi_encoder *e, const cpi_surface *rows, cpi_error *error) {
    cpi_status status = enter(&e->base, BEGUN, error);
    if (status != CPI_OK) return status;
    if (!e->in_bands || rows->width != e->width || rows->height > e->height - e->rows_added)
        return fail(&e->base, error, CPI_MISUSE, "the rows are not those that are next");
    for (uint32_t y = 0; y < rows->height; y++) {
        if (y % ROWS_PER_POLL == 0 && (status = go_on(&e->base, error)) != CPI_OK) return status;
        const uint8_t *row = rows->pixels + y * rows->stride;
        if ((status = write_out(e, row, (uint64_t)e->width * e->channels, error)) != CPI_OK) return status;
    }
    e->rows_added += rows->height;
    if (e->rows_added == e->height) e->base.state = FRAMED;
    return CPI_OK;
}

static const cpi_encode_rows_api rows_api = {
    {sizeof rows_api, 1, CPI_EXT_ENCODE_ROWS_TAG}, .begin_rows = begin_rows, .add_rows = add_rows};
#undef EXTENSION
#define EXTENSION(id) (strcmp(id, CPI_EXT_ENCODE_ROWS) == 0 ? &rows_api : NULL)
#endif

static const void *get_from_encoder(cpi_encoder *e, const char *id) { return (void)e, (void)id, EXTENSION(id); }

static const cpi_encoder_api encoder_api = {
    .size = sizeof(cpi_encoder_api), .open = open_encoder, .close = close_encoder, .accept = accept_format, .begin = begin,
    .add_frame = add_frame, .finish = finish, .get = get_from_encoder,
};

/* ---- file to file ------------------------------------------------------------------------------------------------ */

#if defined REWRITES || defined TRANSCODES
/* Copies bytes offset ..< end, each as `change` has it. */
static cpi_status copy(const cpi_services *services, const cpi_source *source, uint64_t offset, uint64_t end,
                       uint8_t (*change)(uint8_t, uint64_t), const cpi_sink *sink, cpi_error *error) {
    uint8_t buffer[256];
    while (offset < end) {
        uint64_t   copied = 0, count = end - offset < sizeof buffer ? end - offset : sizeof buffer;
        cpi_status status = POLL(services);
        if (status != CPI_CONTINUE) return fail(NULL, error, status, "the host asked to stop");
        if ((status = source->read_at(source->ctx, offset, buffer, count, &copied)) != CPI_OK || copied == 0)
            return fail(NULL, error, status < 0 ? status : CPI_TRUNCATED, "the source cannot be read");
        for (uint64_t i = 0; i < copied; i++) buffer[i] = change(buffer[i], offset + i);
        if ((status = sink->write(sink->ctx, buffer, copied)) != CPI_OK)
            return fail(NULL, error, status, "the output cannot be written");
        offset += copied;
    }
    return CPI_OK;
}
#endif

#ifdef REWRITES
static uint8_t rewritten(uint8_t value, uint64_t at) { return (void)at, (uint8_t)COPIED(value, at); }
static uint8_t same(uint8_t value, uint64_t at) { return (void)at, value; }

/* Keeps, removes or replaces the text behind the pixels. */
static cpi_status rewrite(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                          const cpi_options *options, const cpi_rewrite_request *request, const cpi_source *source,
                          const cpi_sink *sink, cpi_rewrite_outcome *outcome, cpi_error *error) {
    (void)coder, (void)limits, (void)options;
    uint8_t  b[HEADER_BYTES];
    uint64_t copied = 0;
    if (source->read_at(source->ctx, 0, b, sizeof b, &copied) != CPI_OK || copied < sizeof b)
        return fail(NULL, error, CPI_TRUNCATED, "the file ends too early");
    if (memcmp(b, "flt!", 4) != 0) return fail(NULL, error, CPI_NOT_MINE, "it begins otherwise");
    const uint32_t width = (uint32_t)b[4] << 8 | b[5], height = (uint32_t)b[6] << 8 | b[7];
    if (width == 0 || height == 0 || (b[8] != 3 && b[8] != 4)) return fail(NULL, error, CPI_CORRUPT, "no image");
    if (request->orientation > 1 || request->crop.width > 0 || request->flags)
        return fail(NULL, error, CPI_REFUSED, "only metadata is changed");
    for (uint32_t i = 0; i < request->blob_count; i++) {
        const cpi_blob *blob = (const void *)((const char *)request->blobs + i * request->blob_stride);
        if (blob->kind != CPI_BLOB_TEXT || blob->length > 256) return fail(NULL, error, CPI_REFUSED, "it holds a text");
    }
    uint64_t end = HEADER_BYTES + (uint64_t)width * height * b[8];
    if (end > source->length) { WHEN_CUT }
    const cpi_rewrite_outcome mine = {.size = sizeof mine, .flags = OUTCOME_FLAGS,
                                      .kept = {0, 0, KEPT_WIDTH(width), height}};
    copy_struct(outcome, &mine);
    cpi_status status = copy(services, source, 0, end < source->length ? end : source->length, rewritten, sink, error);
    for (uint64_t i = source->length; status == CPI_OK && i < end; i++) status = sink->write(sink->ctx, b, 1);
    for (uint32_t i = 0; status == CPI_OK && i < request->blob_count; i++) {
        const cpi_blob *blob = (const void *)((const char *)request->blobs + i * request->blob_stride);
        if ((status = sink->write(sink->ctx, blob->bytes, blob->length)) != CPI_OK)
            return fail(NULL, error, status, "the output cannot be written");
    }
    const int drops = !COPIES_TEXT || (REMOVES_TEXT && request->remove & CPI_REWRITE_KIND(CPI_BLOB_TEXT)) || request->blob_count > 0;
    return status != CPI_OK || drops ? status : copy(services, source, end, source->length, same, sink, error);
}

static const cpi_rewrite_api rewrite_api = {{sizeof rewrite_api, 1, CPI_EXT_REWRITE_TAG}, .rewrite = rewrite};
#undef EXTENSION
#define EXTENSION(id) (strcmp(id, CPI_EXT_REWRITE) == 0 ? &rewrite_api : NULL)
#endif

#ifdef TRANSCODES /* an image of no use whose pixels are the bytes that were packed: "flt!" | 0 0 | 0 1 | 3 | "pam" | bytes */
static uint8_t masked(uint8_t value, uint64_t at) { return (void)at, value ^ 0x5A; }

static cpi_status transcode(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                            const cpi_options *options, uint32_t direction, const char *format,
                            const cpi_source *source, const cpi_sink *sink, cpi_error *error) {
    static const uint8_t mark[12] = {'f', 'l', 't', '!', 0, 0, 0, 1, 3, 'p', 'a', 'm'};
    (void)coder, (void)limits, (void)options;
    if (strcmp(format, "pam") != 0) return fail(NULL, error, CPI_REFUSED, "it packs PAM only");
    if (direction == CPI_TRANSCODE_PACK) {
        cpi_status status = sink->write(sink->ctx, mark, sizeof mark);
        if (status != CPI_OK) return fail(NULL, error, status, "the output cannot be written");
        return copy(services, source, 0, source->length, masked, sink, error);
    }
    uint8_t  head[sizeof mark];
    uint64_t copied = 0;
    if (source->read_at(source->ctx, 0, head, sizeof head, &copied) != CPI_OK || copied < sizeof head
        || memcmp(head, mark, sizeof mark) != 0)
        return fail(NULL, error, CPI_REFUSED, "nothing was packed here");
    return copy(services, source, sizeof mark, UNPACKED(source->length), masked, sink, error);
}

static const cpi_transcode_api transcode_api = {{sizeof transcode_api, 1, CPI_EXT_TRANSCODE_TAG}, .transcode = transcode};
#undef EXTENSION
#define EXTENSION(id) (strcmp(id, CPI_EXT_TRANSCODE) == 0 ? &transcode_api : NULL)
#endif

/* ---- the plugin -------------------------------------------------------------------------------------------------- */

static const cpi_coder the_coder = {
    .size = sizeof(cpi_coder), .roles = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL | MORE_ROLES,
    .id = "org.example.faulty", .decoder = &decoder_api, .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &the_coder : NULL; }
static const void      *get(const char *id) { return (void)id, EXTENSION(id); }

static cpi_status init(cpi_error *error) {
    (void)error;
    ON_INIT
    return CPI_OK;
}

static const cpi_plugin plugin = {
    .size = sizeof(cpi_plugin), .abi_minor_built = CPI_TARGET_MINOR, .abi_minor_needed = 0, .concurrency = CONCURRENCY,
    .id = "org.example.faulty-plugin", .version = REPORTED_VERSION, .coder_count = 1, .coder = coder, .init = init,
    .get = get,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
#ifdef PARALLEL
    threads = host->get ? host->get(host->ctx, CPI_EXT_PARALLEL) : NULL;
#endif
    return &plugin;
}
