/*
 * decoding.h - the decoder of plugin.h, which includes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
struct cpi_decoder {
    session           base;
    const cpi_source *source;
    uint32_t          width, height, full_height, channels, rows_done, part_rows, frame;
    cpi_rect          dirty;
    uint64_t          start; /* of the item */
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

/* Copies exactly `count` bytes; CPI_NEED_INPUT or an error if they are missing. */
static cpi_status take(cpi_decoder *d, uint64_t offset, uint8_t *buffer, uint64_t count, cpi_error *error) {
    int32_t    complete = d->source->complete(d->source->ctx);
    uint64_t   copied   = 0;
    cpi_status status   = d->source->read_at(d->source->ctx, d->start + offset, buffer, count, &copied);
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

#ifdef ENCODES_ITEMS /* further images follow the first one */
/* Returns whether there is an image of this number, its place and its header. */
static int find(cpi_decoder *d, uint32_t index, uint64_t *start, uint8_t *b) {
    for (*start = 0;; index--) {
        uint64_t copied = 0;
        if (d->source->read_at(d->source->ctx, *start, b, HEADER_BYTES, &copied) != CPI_OK || copied < HEADER_BYTES
            || memcmp(b, "flt!", 4) != 0 || (b[8] != 3 && b[8] != 4))
            return 0;
        if (index == 0) return 1;
        *start += HEADER_BYTES + (uint64_t)((uint32_t)b[4] << 8 | b[5]) * ((uint32_t)b[6] << 8 | b[7]) * b[8];
    }
}
#undef HAS_ITEMS
#define HAS_ITEMS (find(d, 1, &(uint64_t){0}, b) ? CPI_IMAGE_ITEMS : 0)
#endif

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

#ifdef REWRITES /* text may follow the pixels */
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
#elif !defined HAND_OUT /* a function that delivers metadata */
#define HAND_OUT NULL
#endif

#ifdef ITEM_ROLE /* it has items: the image itself, in this role, and its upper half as a page */
#ifndef DESCRIBED /* the item described or selected instead of item `i` */
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

#ifdef ENCODES_ITEMS
static cpi_status describe(cpi_decoder *d, uint32_t index, cpi_item *item, cpi_image_info *info, cpi_error *error) {
    uint8_t    b[HEADER_BYTES];
    uint64_t   start;
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK || !find(d, index, &start, b)) return status != CPI_OK ? status : CPI_END;
    const cpi_item       mine  = {.size = sizeof mine, .role = index == 0 ? CPI_ITEM_PRIMARY : CPI_ITEM_PAGE,
                                  .of = CPI_ITEM_NONE};
    const cpi_image_info facts = {.size = sizeof facts, .width = (uint32_t)b[4] << 8 | b[5],
                                  .height = (uint32_t)b[6] << 8 | b[7], .bit_depth = 8, .frame_count = FRAMES,
                                  .native = b[8] == 4 ? rgba : rgb};
    copy_struct(item, &mine);
    copy_struct(info, &facts);
    return CPI_OK;
}

static cpi_status choose(cpi_decoder *d, uint32_t index, cpi_error *error) {
    uint8_t    b[HEADER_BYTES];
    uint64_t   start;
    cpi_status status = enter(&d->base, HEADER | FRAME | DECODED, error);
    if (status != CPI_OK) return status;
    if (!find(d, index, &start, b)) return fail(&d->base, error, CPI_REFUSED, "there is no such item");
    d->start    = start;
    d->width    = (uint32_t)b[4] << 8 | b[5];
    d->height   = d->full_height = (uint32_t)b[6] << 8 | b[7];
    d->channels = b[8];
    d->frame    = 0;
    d->base.state = HEADER;
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
