/*
 * abilities.c - a minimal format for most optional abilities of the contract: images are formulas.
 *
 *     "FRM1" | width 4 | height 4, big-endian | kind 1 | anything
 *
 *     v  vectors: every size is native            t  tiles: cheap parts and smaller sizes
 *     i  items: pages, a thumbnail, a depth map   m  five channels of 32-bit integers with an RGB offer
 *     l  the same, with the primary item in the last place
 *     p  rows by the host's threads               a  rows that must be aligned to 64 bytes
 *     e  tasks without end                        n  a task with a positive status
 *     r  a task that starts tasks
 *     o  red is the option `abilities.red`, green the first letter of the name's ending
 *
 * Pixel (x, y) of item n is RGB (7x + 13y + n, 3x, 5y), modulo 256, with x and y of the full size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CPI_MANIFEST(
    "{ \"schema\": 1, \"plugin\": { \"id\": \"org.example.abilities-plugin\", \"version\": \"1.0.0\","
    " \"name\": \"Abilities\", \"license\": \"Apache-2.0\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": 0, \"minor_needed\": 0 }, \"concurrency\": \"any\","
    " \"coders\": [ { \"id\": \"org.example.abilities\","
    " \"roles\": [\"decode\", \"scale\", \"region\", \"items\", \"rewrite\", \"transcode\"],"
    " \"transcodes\": [\"pam\"],"
    " \"options\": [ { \"key\": \"abilities.red\", \"type\": \"i64\", \"min\": 0, \"max\": 255, \"default\": 0,"
    " \"scope\": \"decode\", \"summary\": \"red of every pixel\" } ],"
    " \"formats\": [ { \"id\": \"frm\", \"extensions\": [\"frm\"],"
    " \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"46524d31\" } ] },"
    " { \"all\": [ { \"at\": 0, \"bytes\": \"46524d50\" } ] } ] } ] } ] }");

enum { HEADER_BYTES = 13, ITEM_COUNT = 5, DAMAGED_ITEM = 3 };

static const cpi_parallel_api *parallel;
static const cpi_pixel_format  rgb = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0};
static const cpi_pixel_format  many = {CPI_CHANNELS_MANY, CPI_NUMERIC_UINT, 32, CPI_ALPHA_NONE, 5, 0, 0};

struct cpi_decoder {
    const cpi_services *services;
    const cpi_source   *source;
    cpi_status          failure;
    cpi_image_info      info, primary;
    char                kind;
    uint32_t            item;
    int                 is_stepped;
    int64_t             red;
};

static cpi_status say(cpi_error *error, cpi_status status, const char *text) {
    error->code = status;
    snprintf(error->message, sizeof error->message, "%s", text);
    return status;
}

static cpi_status fail(cpi_decoder *d, cpi_error *error, cpi_status status, const char *text) {
    d->failure = status;
    return say(error, status, text);
}

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder, (void)limits;
    cpi_decoder *d = calloc(1, sizeof *d);
    if (!d) return say(error, CPI_NO_MEMORY, "no memory");
    d->services = services;
    for (uint32_t i = 0; options && i < options->count; i++) {
        const cpi_option *option = (const void *)((const char *)options->items + i * options->stride);
        if (strcmp(option->key, "abilities.red") == 0) {
            d->red = option->integer;
        } else if (strchr(option->key, '.') && !(option->flags & CPI_OPTION_HINT)) {
            free(d);
            return say(error, CPI_INVALID_ARGUMENT, "there is no such option");
        }
    }
    *decoder = d;
    return CPI_OK;
}

static void close_decoder(cpi_decoder *d) { free(d); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    (void)error;
    d->source = source;
    return CPI_OK;
}

static uint32_t number(const uint8_t *b) {
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void describe_info(const cpi_decoder *d, cpi_image_info *info) {
    uint32_t size = info->size;
    memcpy(info, &d->info, size < sizeof d->info ? size : sizeof d->info);
    info->size = size;
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    uint8_t    bytes[HEADER_BYTES];
    uint64_t   copied = 0;
    if (!d->source) return fail(d, error, CPI_MISUSE, "there is no source yet");
    cpi_status status = d->source->read_at(d->source->ctx, 0, bytes, sizeof bytes, &copied);
    if (status != CPI_OK) return status;
    if (copied < sizeof bytes) return fail(d, error, CPI_TRUNCATED, "the header is cut");
    if (memcmp(bytes, "FRM1", 4) != 0) return fail(d, error, CPI_NOT_MINE, "it does not begin with FRM1");
    d->kind = (char)bytes[12];
    d->info = (cpi_image_info){.size = sizeof d->info, .width = number(bytes + 4), .height = number(bytes + 8),
                               .bit_depth = 8, .frame_count = 1, .native = d->kind == 'm' ? many : rgb};
    if (d->info.width == 0 || d->info.height == 0) return fail(d, error, CPI_CORRUPT, "it has no pixels");
    if (d->kind == 'v') d->info.flags |= CPI_IMAGE_SCALABLE;
    if (d->kind == 'i' || d->kind == 'l') d->info.flags |= CPI_IMAGE_ITEMS;
    d->item = d->kind == 'l' ? ITEM_COUNT - 1 : 0;
    if (d->kind == 'm') d->info.bit_depth = 32;
    if (d->kind == 't') {
        d->info.region_cost = CPI_REGION_TILES;
        d->info.tile_width = d->info.tile_height = 256;
    }
    d->primary = d->info;
    describe_info(d, info);
    return CPI_OK;
}

static cpi_status offer(cpi_decoder *d, uint32_t index, cpi_format_offer *offered, cpi_error *error) {
    (void)error;
    uint32_t count = d->kind == 'm' ? 2 : 1;
    if (index >= count) return CPI_END;
    offered->format = d->kind == 'm' && index == 0 ? many : rgb;
    offered->row_align = d->kind == 'a' ? 64 : 0;
    return CPI_OK;
}

static cpi_status scaled_size(cpi_decoder *d, uint32_t *width, uint32_t *height, cpi_error *error) {
    if (d->kind == 'v') return CPI_OK;
    if (d->kind != 't') return say(error, CPI_REFUSED, "only the full size");
    uint32_t shift = 0;
    while (d->info.width >> (shift + 1) >= *width && d->info.height >> (shift + 1) >= *height && shift < 30) shift++;
    *width = d->info.width >> shift;
    *height = d->info.height >> shift;
    return CPI_OK;
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    if (d->info.width == 0) return fail(d, error, CPI_MISUSE, "there is no header yet");
    if (d->is_stepped) return CPI_END;
    d->is_stepped = 1;
    frame->flags = CPI_FRAME_INDEPENDENT;
    frame->index = 0;
    frame->rect = (cpi_rect){0, 0, d->info.width, d->info.height};
    return CPI_OK;
}

static cpi_status seek_frame(cpi_decoder *d, uint32_t *index, cpi_error *error) {
    (void)error;
    *index = 0;
    d->is_stepped = 0;
    return CPI_OK;
}

typedef struct job {
    cpi_decoder              *d;
    const cpi_decode_request *request;
} job;

static cpi_status paint_row(void *arg, uint32_t y, uint32_t thread) {
    (void)thread;
    const job                *work = arg;
    const cpi_decoder        *d = work->d;
    const cpi_decode_request *request = work->request;
    uint64_t                  width = request->scaled_width ? request->scaled_width : d->info.width;
    uint64_t                  height = request->scaled_height ? request->scaled_height : d->info.height;
    uint8_t                  *row = request->surface->pixels + y * request->surface->stride;
    for (uint32_t x = 0; x < request->surface->width; x++, row += 3) {
        uint64_t fx = (x + (uint64_t)request->region.x) * d->info.width / width;
        uint64_t fy = (y + (uint64_t)request->region.y) * d->info.height / height;
        row[0] = d->kind == 'o' ? (uint8_t)d->red : (uint8_t)(7 * fx + 13 * fy + d->item);
        row[1] = d->kind == 'o' ? (uint8_t)(d->source->ending ? d->source->ending[0] : 0) : (uint8_t)(3 * fx);
        row[2] = (uint8_t)(5 * fy);
    }
    return CPI_OK;
}

/* Faulty tasks: one returns a positive status, one starts tasks. */
static cpi_status answer_note(void *arg, uint32_t index, uint32_t thread) {
    (void)arg, (void)thread;
    return index == 3 ? CPI_END : CPI_OK;
}

static cpi_status paint_nothing(void *arg, uint32_t index, uint32_t thread) {
    (void)arg, (void)index, (void)thread;
    return CPI_OK;
}

static cpi_status run_again(void *arg, uint32_t index, uint32_t thread) {
    const job *work = arg;
    (void)index, (void)thread;
    return parallel->run(work->d->services, 1, paint_nothing, NULL);
}

static cpi_status run_badly(const job *work, cpi_error *error) {
    cpi_decoder *d = work->d;
    cpi_status   status =
        d->kind == 'e'   ? parallel->run(d->services, UINT32_MAX, paint_nothing, NULL)
        : d->kind == 'n' ? parallel->run(d->services, 8, answer_note, NULL)
                         : parallel->run(d->services, 8, run_again, (void *)(uintptr_t)work);
    return status == CPI_OK ? CPI_OK : fail(d, error, status, "a task failed");
}

/* Whether a region lies inside the decoded frame; 64 bits, so that sums cannot overflow. */
static int is_inside(const cpi_decoder *d, const cpi_decode_request *request) {
    const cpi_rect region = request->region;
    int64_t        width = request->scaled_width ? request->scaled_width : d->info.width;
    int64_t        height = request->scaled_height ? request->scaled_height : d->info.height;
    return region.width > 0 && region.height > 0 && region.x >= 0 && region.y >= 0 &&
           region.x + (int64_t)region.width <= width && region.y + (int64_t)region.height <= height;
}

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    const cpi_surface *surface = request->surface;
    int                is_part = request->region.width > 0 || request->region.height > 0;
    if (!d->is_stepped) return fail(d, error, CPI_MISUSE, "there is no frame yet");
    if (is_part && !is_inside(d, request)) return say(error, CPI_REFUSED, "the region is outside of the frame");
    if (is_part && d->kind != 't' && d->kind != 'v') {
        return say(error, CPI_REFUSED, "only whole images");
    }
    if (surface->format.channels != CPI_CHANNELS_RGB) return fail(d, error, CPI_MISUSE, "the format was not offered");
    if (d->kind == 'a' && (surface->stride % 64 != 0 || (uintptr_t)surface->pixels % 64 != 0)) {
        return fail(d, error, CPI_INTERNAL, "the rows are not aligned");
    }
    job work = {d, request};
    if (strchr("enr", d->kind) && parallel) return run_badly(&work, error);
    if (d->kind == 'p' && parallel) {
        cpi_status status = parallel->run(d->services, surface->height, paint_row, &work);
        return status == CPI_OK ? CPI_OK : fail(d, error, status, "a row failed");
    }
    for (uint32_t y = 0; y < surface->height; y++) {
        cpi_status status = y % 64 == 0 ? d->services->poll(d->services->ctx) : CPI_OK;
        if (status != CPI_OK) return fail(d, error, status, "stopped");
        paint_row(&work, y, 0);
    }
    return CPI_OK;
}

/* ---- items: 0 primary, 1 page, 2 thumbnail of 0, 3 damaged, 4 depth of 0; with 'l' 0 and 4 change places ---- */

static int is_primary(const cpi_decoder *d, uint32_t index) {
    return index == (d->kind == 'l' ? ITEM_COUNT - 1 : 0);
}

static cpi_status describe(cpi_decoder *d, uint32_t index, cpi_item *item, cpi_image_info *info, cpi_error *error) {
    static const uint32_t roles[ITEM_COUNT] = {CPI_ITEM_PRIMARY, CPI_ITEM_PAGE, CPI_ITEM_THUMBNAIL, CPI_ITEM_PAGE,
                                               CPI_ITEM_AUXILIARY};
    if (index >= ITEM_COUNT) return CPI_END;
    if (index == DAMAGED_ITEM) return say(error, CPI_REFUSED, "its header is damaged");
    item->role = roles[index];
    if (d->kind == 'l' && (index == 0 || index == 4)) item->role = roles[4 - index];
    item->of = item->role == CPI_ITEM_THUMBNAIL || item->role == CPI_ITEM_AUXILIARY ? (d->kind == 'l' ? 4 : 0)
                                                                                    : CPI_ITEM_NONE;
    item->name = index == 1 ? "second page" : NULL;
    item->kind = item->role == CPI_ITEM_AUXILIARY ? "urn:example:depth" : NULL;
    describe_info(d, info);
    if (is_primary(d, index)) return CPI_OK;
    info->width = 10 + index;
    info->height = 20 + index;
    return CPI_OK;
}

static cpi_status select_item(cpi_decoder *d, uint32_t index, cpi_error *error) {
    if (index >= ITEM_COUNT || index == DAMAGED_ITEM) return say(error, CPI_REFUSED, "it cannot be decoded");
    d->info = d->primary;
    if (!is_primary(d, index)) {
        d->info.width = 10 + index;
        d->info.height = 20 + index;
    }
    d->item = index;
    d->is_stepped = 0;
    return CPI_OK;
}

static const cpi_items_api items_api = {
    .table = {sizeof(cpi_items_api), 1, CPI_EXT_ITEMS_TAG}, .describe = describe, .select = select_item};

static const void *get_from_decoder(cpi_decoder *d, const char *id) {
    (void)d;
    return strcmp(id, CPI_EXT_ITEMS) == 0 ? &items_api : NULL;
}

/* ---- file to file ---- */

static cpi_status copy(const cpi_source *source, uint64_t offset, uint64_t end, uint8_t mask, const cpi_sink *sink) {
    uint8_t buffer[256];
    while (offset < end) {
        uint64_t   copied = 0;
        uint64_t   count = end - offset < sizeof buffer ? end - offset : sizeof buffer;
        cpi_status status = source->read_at(source->ctx, offset, buffer, count, &copied);
        if (status != CPI_OK || copied == 0) return status != CPI_OK ? status : CPI_TRUNCATED;
        for (uint64_t i = 0; i < copied; i++) buffer[i] ^= mask;
        if ((status = sink->write(sink->ctx, buffer, copied)) != CPI_OK) return status;
        offset += copied;
    }
    return CPI_OK;
}

/* The bytes after the header are text: removed, or replaced by the blobs of that kind. */
static cpi_status rewrite(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                          const cpi_options *options, const cpi_rewrite_request *request, const cpi_source *source,
                          const cpi_sink *sink, cpi_rewrite_outcome *outcome, cpi_error *error) {
    (void)coder, (void)services, (void)limits, (void)options;
    uint8_t  head[HEADER_BYTES];
    uint64_t copied = 0;
    if (source->read_at(source->ctx, 0, head, sizeof head, &copied) != CPI_OK || copied < sizeof head) {
        return say(error, CPI_TRUNCATED, "the header is cut");
    }
    if (request->orientation > 1 || request->crop.width > 0) return say(error, CPI_REFUSED, "pixels stay as they are");
    outcome->kept = (cpi_rect){0, 0, number(head + 4), number(head + 8)};
    int        drops = (request->remove & CPI_REWRITE_KIND(CPI_BLOB_TEXT)) != 0;
    cpi_status status = copy(source, 0, HEADER_BYTES, 0, sink);
    for (uint32_t i = 0; status == CPI_OK && i < request->blob_count; i++) {
        const cpi_blob *blob = (const void *)((const char *)request->blobs + i * request->blob_stride);
        if (blob->kind != CPI_BLOB_TEXT) return say(error, CPI_REFUSED, "it holds text only");
        drops = 1;
        status = sink->write(sink->ctx, blob->bytes, blob->length);
    }
    return status != CPI_OK || drops ? status : copy(source, HEADER_BYTES, source->length, 0, sink);
}

static const cpi_rewrite_api rewrite_api = {.table = {sizeof(cpi_rewrite_api), 1, CPI_EXT_REWRITE_TAG},
                                            .rewrite = rewrite};

/* "FRMP" and the bytes of the original, each XOR 0x5A. */
static cpi_status transcode(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                            const cpi_options *options, uint32_t direction, const char *format,
                            const cpi_source *source, const cpi_sink *sink, cpi_error *error) {
    (void)coder, (void)services, (void)limits, (void)options;
    static const uint8_t mark[4] = {'F', 'R', 'M', 'P'};
    if (strcmp(format, "pam") != 0) return say(error, CPI_REFUSED, "it packs PAM only");
    if (direction == CPI_TRANSCODE_PACK) {
        cpi_status status = sink->write(sink->ctx, mark, sizeof mark);
        return status != CPI_OK ? status : copy(source, 0, source->length, 0x5A, sink);
    }
    uint8_t  head[4];
    uint64_t copied = 0;
    if (source->read_at(source->ctx, 0, head, sizeof head, &copied) != CPI_OK || copied < 4 ||
        memcmp(head, mark, sizeof mark) != 0) {
        return say(error, CPI_REFUSED, "nothing was packed here");
    }
    return copy(source, 4, source->length, 0x5A, sink);
}

static const cpi_transcode_api transcode_api = {.table = {sizeof(cpi_transcode_api), 1, CPI_EXT_TRANSCODE_TAG},
                                                .transcode = transcode};

/* ---- the plugin ---- */

static const cpi_decoder_api decoder_api = {
    .size = sizeof decoder_api, .open = open_decoder, .close = close_decoder, .set_source = set_source,
    .read_header = read_header, .offer = offer, .scaled_size = scaled_size, .next_frame = next_frame,
    .seek_frame = seek_frame, .decode = decode, .get = get_from_decoder};

static const cpi_coder the_coder = {
    .size = sizeof the_coder, .id = "org.example.abilities", .decoder = &decoder_api,
    .roles = CPI_CODER_DECODE | CPI_CODER_SCALE | CPI_CODER_REGION | CPI_CODER_ITEMS | CPI_CODER_REWRITE |
             CPI_CODER_TRANSCODE};

static const cpi_coder *coder_at(uint32_t index) { return index == 0 ? &the_coder : NULL; }

static const void *get(const char *id) {
    if (strcmp(id, CPI_EXT_REWRITE) == 0) return &rewrite_api;
    return strcmp(id, CPI_EXT_TRANSCODE) == 0 ? &transcode_api : NULL;
}

static const cpi_plugin plugin = {.size = sizeof plugin, .abi_minor_built = CPI_TARGET_MINOR,
                                  .id = "org.example.abilities-plugin", .version = "1.0.0", .coder_count = 1,
                                  .coder = coder_at, .get = get};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)error;
    parallel = host->get ? host->get(host->ctx, CPI_EXT_PARALLEL) : NULL;
    return &plugin;
}
