/*
 * encoding.h - the encoder, and what changes a file without decoding it, of plugin.h, which includes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
struct cpi_encoder {
    session         base;
    const cpi_sink *sink;
    uint32_t        width, height, channels, rows_added;
    int             in_bands;
    uint32_t        items; /* begun */
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
    if (WRITES_ITEM(e->items) && (status = write_out(e, header, sizeof header, error)) != CPI_OK) return status;
    for (uint32_t y = 0; y < e->height && WRITES_ITEM(e->items); y++) {
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

#ifdef ENCODES_ITEMS
static cpi_status next_item(cpi_encoder *e, const cpi_item *item, cpi_error *error) {
    cpi_status status = enter(&e->base, OPENED | FRAMED, error);
    if (status != CPI_OK) return status;
    if (item->role != CPI_ITEM_PRIMARY && item->role != CPI_ITEM_PAGE)
        return fail(&e->base, error, CPI_REFUSED, "it has pages only");
    e->items++;
    e->base.state = OPENED;
    return CPI_OK;
}

static const cpi_encode_items_api encode_items_api = {
    {sizeof encode_items_api, 1, CPI_EXT_ENCODE_ITEMS_TAG}, .next_item = next_item};
#undef EXTENSION
#define EXTENSION(id) (strcmp(id, CPI_EXT_ENCODE_ITEMS) == 0 ? &encode_items_api : NULL)
#endif

static const void *get_from_encoder(cpi_encoder *e, const char *id) { return (void)e, (void)id, EXTENSION(id); }

static const cpi_encoder_api encoder_api = {
    .size = sizeof(cpi_encoder_api), .open = open_encoder, .close = close_encoder, .accept = accept_format, .begin = begin,
    .add_frame = add_frame, .finish = finish, .get = get_from_encoder,
};

/* ---- file to file ------------------------------------------------------------------------------------------------ */

#if defined REWRITES || defined TRANSCODES
/* Copies bytes offset ..< end, each changed by `change`. */
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

/* Keeps, removes or replaces the text after the pixels. */
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

#ifdef TRANSCODES /* a meaningless image whose pixels are the packed bytes: "flt!" | 0 0 | 0 1 | 3 | "pam" | bytes */
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
