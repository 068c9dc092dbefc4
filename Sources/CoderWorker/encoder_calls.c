#define _GNU_SOURCE
#include "session.h"

#include <stdio.h>
#include <string.h>

static void open_encoder(wire_message *message, iso_reply *reply) {
    iso_open open;
    memcpy(&open, wire_body(message, sizeof open), sizeof open);
    const plugin_coder *coder = plugin_coder_at(open.coder);
    if (!coder || !coder->has_encoder || open.source_kind != 0) {
        wire_malformed();
    }
    current.coder = coder;
    current.limits = open.limits;
    current.limits.size = sizeof current.limits;
    current.thread_hint = open.thread_hint;
    services_begin();
    const cpi_options *options =
        options_begin(message->body + sizeof open, message->length - sizeof open, open.option_count);
    cpi_encoder *opened = NULL;
    reply->status =
        options ? coder->encoder.open(coder->pointer, &current.services, &current.limits, options, &opened,
                                      &reply->error)
                : CPI_NO_MEMORY;
    options_end();
    /* If open fails, the plugin has freed everything, even if `opened` is set. */
    current.encoder = reply->status == CPI_OK ? opened : NULL;
    if (reply->status == CPI_OK && !opened) {
        reply->status = CPI_INTERNAL;
        snprintf(reply->error.message, sizeof reply->error.message, "the plugin opened no session");
    }
}

void encoder_close(void) {
    if (current.encoder) {
        current.coder->encoder.close(current.encoder);
    }
    current.encoder = NULL;
}

/* ---- the calls of a session ---- */

static void accept_formats(const iso_accept_request *request, iso_reply *reply) {
    iso_formats *formats = &reply->value.formats;
    cpi_image_info info = request->info;
    while (reply->status == CPI_OK && formats->count < ISO_FORMAT_LIMIT) {
        cpi_format_offer offer = {.size = sizeof offer};
        reply->status =
            current.coder->encoder.accept(current.encoder, &info, formats->count, &offer, &reply->error);
        formats->items[formats->count] = offer;
        formats->count += reply->status == CPI_OK;
    }
    reply->status = reply->status == CPI_END ? CPI_OK : reply->status;
}

static void begin(const iso_begin_request *request, iso_reply *reply) {
    cpi_image_info info = request->info;
    sink_begin(request->sink_flags);
    reply->status = current.coder->encoder.begin(current.encoder, &info, &current.sink, &reply->error);
}

size_t blob_read(cpi_blob *blob, const iso_blob *head, const uint8_t *behind, size_t length) {
    size_t key = head->has_key ? (size_t)head->key_length + 1 : 0;
    if (!head->follows || key > length || head->length > length - key ||
        (head->has_key && behind[head->key_length] != '\0')) {
        wire_malformed();
    }
    *blob = (cpi_blob){.size = sizeof *blob,
                       .kind = head->kind,
                       .key = head->has_key ? (const char *)behind : NULL,
                       .bytes = behind + key,
                       .length = head->length};
    return key + (size_t)head->length;
}

static void add_blob(const wire_message *message, iso_reply *reply) {
    const iso_blob *request = &((const iso_blob_request *)(const void *)message->body)->blob;
    cpi_blob blob;
    size_t length = message->length - sizeof(iso_blob_request);
    if (blob_read(&blob, request, message->body + sizeof(iso_blob_request), length) != length) {
        wire_malformed();
    }
    if (!current.coder->encoder.add_blob) {
        reply->absent = 1;
        return;
    }
    reply->status = current.coder->encoder.add_blob(current.encoder, &blob, &reply->error);
}

/* An extension's table; all functions are NULL if the plugin has none. */
static void find_table(void *table, size_t size, const char *id, uint64_t tag) {
    const cpi_encoder_api *api = &current.coder->encoder;
    plugin_table(table, size, api->get ? api->get(current.encoder, id) : NULL, tag);
}

static void add_thumbnail(wire_message *message, const iso_frame_request *request, iso_reply *reply) {
    cpi_surface surface;
    surface_open(message, &request->surface, &surface);
    cpi_thumbnail_encode_api table;
    find_table(&table, sizeof table, CPI_EXT_THUMBNAIL_ENCODE, CPI_EXT_THUMBNAIL_ENCODE_TAG);
    if (table.add) {
        reply->status = table.add(current.encoder, &surface, &reply->error);
    } else {
        reply->absent = 1;
    }
}

/* A text of the host; NULL if there is none. */
static const char *item_text(const char *field, uint32_t is_given) {
    if (strnlen(field, ISO_TEXT_LIMIT) == ISO_TEXT_LIMIT) {
        wire_malformed();
    }
    return is_given ? field : NULL;
}

static void next_item(const iso_item_request *request, iso_reply *reply) {
    const iso_item *wanted = &request->item;
    cpi_item item = {.size = sizeof item,
                     .flags = wanted->flags,
                     .role = wanted->role,
                     .of = wanted->of,
                     .group = wanted->group,
                     .name = item_text(wanted->name, wanted->has_name),
                     .kind = item_text(wanted->kind, wanted->has_kind)};
    cpi_encode_items_api table;
    find_table(&table, sizeof table, CPI_EXT_ENCODE_ITEMS, CPI_EXT_ENCODE_ITEMS_TAG);
    if (table.next_item) {
        reply->status = table.next_item(current.encoder, &item, &reply->error);
    } else {
        reply->absent = 1;
    }
}

static void begin_rows(const iso_frame_request *request, iso_reply *reply) {
    cpi_encode_rows_api table;
    find_table(&table, sizeof table, CPI_EXT_ENCODE_ROWS, CPI_EXT_ENCODE_ROWS_TAG);
    if (!table.begin_rows || !table.add_rows) {
        reply->absent = 1;
        return;
    }
    uint32_t rows = 0;
    cpi_frame_info frame = request->frame;
    reply->status = table.begin_rows(current.encoder, &frame, &rows, &reply->error);
    reply->value.number = rows;
}

static void add_rows(wire_message *message, const iso_frame_request *request, iso_reply *reply) {
    cpi_surface surface;
    surface_open(message, &request->surface, &surface);
    cpi_encode_rows_api table;
    find_table(&table, sizeof table, CPI_EXT_ENCODE_ROWS, CPI_EXT_ENCODE_ROWS_TAG);
    if (table.add_rows) {
        reply->status = table.add_rows(current.encoder, &surface, &reply->error);
    } else {
        reply->absent = 1;
    }
}

static void add_frame(wire_message *message, const iso_frame_request *request, iso_reply *reply) {
    cpi_surface surface;
    surface_open(message, &request->surface, &surface);
    cpi_frame_info frame = request->frame;
    reply->status = current.coder->encoder.add_frame(current.encoder, &frame, &surface, &reply->error);
}

/* ---- requests ---- */

static size_t request_size(uint16_t type) {
    switch (type) {
    case ISO_ACCEPT: return sizeof(iso_accept_request);
    case ISO_BEGIN: return sizeof(iso_begin_request);
    case ISO_ADD_BLOB: return sizeof(iso_blob_request);
    case ISO_ADD_THUMBNAIL:
    case ISO_BEGIN_ROWS:
    case ISO_ADD_ROWS:
    case ISO_ADD_FRAME: return sizeof(iso_frame_request);
    case ISO_NEXT_ITEM: return sizeof(iso_item_request);
    case ISO_FINISH: return sizeof(iso_input);
    default: return 0;
    }
}

int encoder_serve(wire_message *message, iso_reply *reply) {
    if (message->type == ISO_OPEN_ENCODER) {
        open_encoder(message, reply);
        return 1;
    }
    size_t size = request_size(message->type);
    if (size == 0) {
        return 0;
    }
    const void *body = wire_body(message, size);
    if (!current.encoder) {
        wire_malformed();
    }
    switch (message->type) {
    case ISO_ACCEPT: accept_formats(body, reply); break;
    case ISO_BEGIN: begin(body, reply); break;
    case ISO_ADD_BLOB: add_blob(message, reply); break;
    case ISO_ADD_THUMBNAIL: add_thumbnail(message, body, reply); break;
    case ISO_ADD_FRAME: add_frame(message, body, reply); break;
    case ISO_BEGIN_ROWS: begin_rows(body, reply); break;
    case ISO_ADD_ROWS: add_rows(message, body, reply); break;
    case ISO_NEXT_ITEM: next_item(body, reply); break;
    default: reply->status = current.coder->encoder.finish(current.encoder, &reply->error); break;
    }
    return 1;
}
