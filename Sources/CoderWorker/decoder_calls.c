#define _GNU_SOURCE
#include "session.h"

#include <stdio.h>
#include <string.h>

/* The result of the last ISO_BLOB; valid until the next call on the decoder. */
static cpi_blob blob;

static void fault(iso_reply *reply, cpi_status status, const char *message) {
    memset(&reply->error, 0, sizeof reply->error);
    reply->error.size = sizeof reply->error;
    reply->status = reply->error.code = status;
    snprintf(reply->error.message, sizeof reply->error.message, "%s", message);
}

static void read_header(iso_reply *reply) {
    reply->value.info.size = sizeof reply->value.info;
    reply->status = current.coder->decoder.read_header(current.decoder, &reply->value.info, &reply->error);
}

static void open_decoder(wire_message *message, iso_reply *reply) {
    iso_open open;
    memcpy(&open, wire_body(message, sizeof open), sizeof open);
    const plugin_coder *coder = plugin_coder_at(open.coder);
    if (!coder || !coder->has_decoder) {
        wire_malformed();
    }
    source_open(&open, wire_take(message, 0));
    current.coder = coder;
    current.limits = open.limits;
    current.limits.size = sizeof current.limits;
    current.thread_hint = open.thread_hint;
    services_begin();
    const cpi_options *options =
        options_begin(message->body + sizeof open, message->length - sizeof open, open.option_count);
    cpi_decoder *opened = NULL;
    reply->status =
        options ? coder->decoder.open(coder->pointer, &current.services, &current.limits, options, &opened,
                                      &reply->error)
                : CPI_NO_MEMORY;
    options_end();
    /* If open fails, the plugin has freed everything, even if `opened` is set. */
    current.decoder = reply->status == CPI_OK ? opened : NULL;
    if (reply->status == CPI_OK && !opened) {
        fault(reply, CPI_INTERNAL, "the plugin opened no session");
    }
    if (reply->status == CPI_OK) {
        reply->status = coder->decoder.set_source(opened, &current.source, &reply->error);
    }
    if (reply->status != CPI_OK) {
        decoder_close();
        source_close();
    } else if (open.reads_header) {
        reply->opened = 1;
        read_header(reply);
    }
}

void decoder_close(void) {
    if (current.decoder) {
        current.coder->decoder.close(current.decoder);
    }
    current.decoder = NULL;
}

/* ---- the calls of a session ---- */

static void next_frame(iso_reply *reply) {
    reply->value.frame.size = sizeof reply->value.frame;
    reply->status = current.coder->decoder.next_frame(current.decoder, &reply->value.frame, &reply->error);
}

static void hand_out_blob(const iso_blob_query *query, iso_reply *reply) {
    uint64_t room = ISO_MESSAGE_LIMIT - sizeof *reply - 1;
    if (query->most_key > room || query->most > room - query->most_key) {
        wire_malformed();
    }
    if (!current.coder->decoder.blob) {
        reply->absent = 1;
        return;
    }
    blob = (cpi_blob){.size = sizeof blob};
    reply->status = current.coder->decoder.blob(current.decoder, query->index, &blob, &reply->error);
    if (reply->status != CPI_OK) {
        return;
    }
    iso_blob *told = &reply->value.blob;
    told->kind = blob.kind;
    told->has_key = blob.key != NULL;
    told->key_length = blob.key ? (uint32_t)strnlen(blob.key, (size_t)query->most_key + 1) : 0;
    told->length = blob.bytes ? blob.length : 0;
    told->follows = told->key_length <= query->most_key && told->length <= query->most;
}

int decoder_reply_tail(const iso_reply *reply, struct iovec *parts) {
    const iso_blob *told = &reply->value.blob;
    int count = 0;
    if (reply->status != CPI_OK || reply->absent || !told->follows) {
        return 0;
    }
    if (told->has_key) {
        parts[count++] = (struct iovec){(char *)blob.key, told->key_length};
        parts[count++] = (struct iovec){"", 1};
    }
    parts[count++] = (struct iovec){(uint8_t *)blob.bytes, told->length};
    return count;
}

static void offer_formats(iso_reply *reply) {
    iso_formats *formats = &reply->value.formats;
    if (!current.coder->decoder.offer) {
        reply->absent = 1;
        return;
    }
    while (reply->status == CPI_OK && formats->count < ISO_FORMAT_LIMIT) {
        cpi_format_offer offer = {.size = sizeof offer};
        reply->status = current.coder->decoder.offer(current.decoder, formats->count, &offer, &reply->error);
        formats->items[formats->count] = offer;
        formats->count += reply->status == CPI_OK;
    }
    reply->status = reply->status == CPI_END ? CPI_OK : reply->status;
}

static void scaled_size(const iso_size_request *wanted, iso_reply *reply) {
    if (!current.coder->decoder.scaled_size) {
        reply->absent = 1;
        return;
    }
    uint32_t width = wanted->width;
    uint32_t height = wanted->height;
    reply->status = current.coder->decoder.scaled_size(current.decoder, &width, &height, &reply->error);
    reply->value.size[0] = width;
    reply->value.size[1] = height;
}

static void seek_frame(uint32_t index, iso_reply *reply) {
    if (!current.coder->decoder.seek_frame) {
        reply->absent = 1;
        return;
    }
    uint32_t number = index;
    reply->status = current.coder->decoder.seek_frame(current.decoder, &number, &reply->error);
    reply->value.number = number;
}

/* Finds the part of the surface that the last decode changed: the whole surface, unless the plugin reports less. */
static void find_dirty(const cpi_surface *surface, iso_reply *reply) {
    cpi_rect rect = {0, 0, surface->width, surface->height};
    if (current.coder->decoder.dirty) {
        cpi_status status = current.coder->decoder.dirty(current.decoder, &rect, &reply->error);
        if (status != CPI_OK) {
            /* `dirty` must not return a positive status. */
            reply->status = status < 0 ? status : CPI_INTERNAL;
        }
    }
    reply->value.dirty = rect;
}

static void decode(wire_message *message, const iso_decode_request *request, iso_reply *reply) {
    cpi_surface surface;
    surface_open(message, &request->surface, &surface);
    cpi_decode_request wanted = {.size = sizeof wanted,
                                 .flags = request->flags,
                                 .surface = &surface,
                                 .region = request->region,
                                 .scaled_width = request->scaled_width,
                                 .scaled_height = request->scaled_height};
    reply->status = current.coder->decoder.decode(current.decoder, &wanted, &reply->error);
    if (reply->status == CPI_PARTIAL) {
        find_dirty(&surface, reply);
    }
}

/* ---- items ---- */

/* The extension's table; all functions are NULL if the plugin has none. */
static cpi_items_api items(void) {
    const cpi_decoder_api *api = &current.coder->decoder;
    cpi_items_api table;
    plugin_table(&table, sizeof table, api->get ? api->get(current.decoder, CPI_EXT_ITEMS) : NULL, CPI_EXT_ITEMS_TAG);
    return table;
}

static uint32_t copy_item_text(char *field, const char *text) {
    if (text) {
        memcpy(field, text, strnlen(text, ISO_TEXT_LIMIT - 1));
    }
    return text != NULL;
}

static void describe_item(uint32_t index, iso_reply *reply) {
    cpi_items_api table = items();
    iso_item *told = &reply->value.item;
    cpi_item item = {.size = sizeof item};
    told->info.size = sizeof told->info;
    if (!table.describe) {
        reply->absent = 1;
        return;
    }
    reply->status = table.describe(current.decoder, index, &item, &told->info, &reply->error);
    if (reply->status == CPI_OK) {
        told->flags = item.flags;
        told->role = item.role;
        told->of = item.of;
        told->group = item.group;
        told->reserved = item.reserved;
        told->has_name = copy_item_text(told->name, item.name);
        told->has_kind = copy_item_text(told->kind, item.kind);
    }
}

static void select_item(uint32_t index, iso_reply *reply) {
    cpi_items_api table = items();
    if (table.select) {
        reply->status = table.select(current.decoder, index, &reply->error);
    } else {
        reply->absent = 1;
    }
}

static void count_items(iso_reply *reply) {
    cpi_items_api table = items();
    uint32_t count = 0;
    if (table.count) {
        reply->status = table.count(current.decoder, &count, &reply->error);
    } else {
        reply->absent = 1;
    }
    reply->value.number = count;
}

/* ---- requests ---- */

static size_t request_size(uint16_t type) {
    switch (type) {
    case ISO_READ_HEADER:
    case ISO_OFFER:
    case ISO_ITEM_COUNT:
    case ISO_NEXT_FRAME: return sizeof(iso_input);
    case ISO_BLOB: return sizeof(iso_blob_query);
    case ISO_SEEK_FRAME:
    case ISO_ITEM_DESCRIBE:
    case ISO_ITEM_SELECT: return sizeof(iso_index_request);
    case ISO_SCALED_SIZE: return sizeof(iso_size_request);
    case ISO_DECODE: return sizeof(iso_decode_request);
    default: return 0;
    }
}

int decoder_serve(wire_message *message, iso_reply *reply) {
    if (message->type == ISO_OPEN_DECODER) {
        open_decoder(message, reply);
        return 1;
    }
    size_t size = request_size(message->type);
    if (size == 0) {
        return 0;
    }
    const void *body = wire_body(message, size);
    if (!current.decoder) {
        wire_malformed();
    }
    source_update(body);
    const iso_index_request *index = body;
    switch (message->type) {
    case ISO_READ_HEADER: read_header(reply); break;
    case ISO_NEXT_FRAME: next_frame(reply); break;
    case ISO_BLOB: hand_out_blob(body, reply); break;
    case ISO_OFFER: offer_formats(reply); break;
    case ISO_SEEK_FRAME: seek_frame(index->index, reply); break;
    case ISO_ITEM_DESCRIBE: describe_item(index->index, reply); break;
    case ISO_ITEM_SELECT: select_item(index->index, reply); break;
    case ISO_ITEM_COUNT: count_items(reply); break;
    case ISO_SCALED_SIZE: scaled_size(body, reply); break;
    default: decode(message, body, reply); break;
    }
    return 1;
}
