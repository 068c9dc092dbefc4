#define _GNU_SOURCE
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* The parameters of a call besides the source, copied out of the message. */
typedef struct job {
    iso_rewrite_request request;
    const cpi_options  *options;
    cpi_blob           *blobs;
} job;

/* Prepares source, services, options, blobs and sink of a call. 0: out of memory. */
static int begin(wire_message *message, job *all) {
    memcpy(&all->request, wire_body(message, sizeof all->request), sizeof all->request);
    const iso_rewrite_request *request = &all->request;
    const plugin_coder *coder = plugin_coder_at(request->open.coder);
    size_t left = message->length - sizeof *request;
    const uint8_t *behind = message->body + sizeof *request;
    if (!coder || request->option_bytes > left || request->blob_count > left / sizeof(iso_blob)) {
        wire_malformed();
    }
    source_open(&request->open, wire_take(message, 0));
    current.coder = coder;
    current.limits = request->open.limits;
    current.limits.size = sizeof current.limits;
    current.thread_hint = request->open.thread_hint;
    services_begin();
    sink_begin(request->sink_flags);
    all->options = options_begin(behind, request->option_bytes, request->open.option_count);
    all->blobs = calloc((size_t)request->blob_count + 1, sizeof *all->blobs);
    behind += request->option_bytes;
    left -= request->option_bytes;
    for (uint32_t i = 0; all->blobs && i < request->blob_count; i++) {
        iso_blob head;
        if (left < sizeof head) {
            wire_malformed();
        }
        memcpy(&head, behind, sizeof head);
        size_t taken = sizeof head + blob_read(&all->blobs[i], &head, behind + sizeof head, left - sizeof head);
        behind += taken;
        left -= taken;
    }
    if (left != 0 && all->blobs) {
        wire_malformed();
    }
    return all->options && all->blobs;
}

static void rewrite(const job *all, iso_reply *reply) {
    cpi_rewrite_api table;
    plugin_table(&table, sizeof table, plugin_get(CPI_EXT_REWRITE), CPI_EXT_REWRITE_TAG);
    if (!table.rewrite) {
        reply->absent = 1;
        return;
    }
    const iso_rewrite_request *asked = &all->request;
    cpi_rewrite_request request = {.size = sizeof request,
                                   .flags = asked->flags,
                                   .remove = asked->remove,
                                   .orientation = asked->orientation,
                                   .crop = asked->crop,
                                   .blobs = asked->blob_count > 0 ? all->blobs : NULL,
                                   .blob_stride = sizeof *all->blobs,
                                   .blob_count = asked->blob_count};
    reply->value.outcome.size = sizeof reply->value.outcome;
    reply->status = table.rewrite(current.coder->pointer, &current.services, &current.limits, all->options, &request,
                                  &current.source, &current.sink, &reply->value.outcome, &reply->error);
}

static void transcode(const job *all, iso_reply *reply) {
    cpi_transcode_api table;
    plugin_table(&table, sizeof table, plugin_get(CPI_EXT_TRANSCODE), CPI_EXT_TRANSCODE_TAG);
    if (!table.transcode) {
        reply->absent = 1;
        return;
    }
    char format[sizeof all->request.format + 1] = {0};
    memcpy(format, all->request.format, sizeof all->request.format);
    reply->status = table.transcode(current.coder->pointer, &current.services, &current.limits, all->options,
                                    all->request.direction, format, &current.source, &current.sink, &reply->error);
}

int rewrite_serve(wire_message *message, iso_reply *reply) {
    if (message->type != ISO_REWRITE && message->type != ISO_TRANSCODE) {
        return 0;
    }
    job all = {0};
    if (!begin(message, &all)) {
        reply->status = CPI_NO_MEMORY;
    } else if (message->type == ISO_REWRITE) {
        rewrite(&all, reply);
    } else {
        transcode(&all, reply);
    }
    options_end();
    free(all.blobs);
    return 1;
}
