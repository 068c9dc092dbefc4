/*
 * session.h - one session of the plugin, with its services, source, sink and surfaces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SESSION_H
#define SESSION_H

#include <isolation_wire.h>

#include "plugin.h"
#include "wire.h"

typedef struct session {
    uint64_t            id;
    uint32_t            sequence; /* of the request being served */
    const plugin_coder *coder;
    cpi_decoder        *decoder; /* NULL: none is open */
    cpi_encoder        *encoder;
    cpi_limits          limits;
    cpi_services        services;
    cpi_source          source;
    cpi_sink            sink;
    uint32_t            thread_hint;
} session;

/* The only session, at a fixed address because a plugin's thread may outlive its session. */
extern session current;
/* The page shared with the host. */
extern iso_shared *shared_page;

/* ---- services.c ---- */
void services_begin(void);
/* Counts the pixels of a request against the memory limit of the session, until the next call. */
void services_hold(uint64_t bytes);

/* ---- source.c ---- */

/* Maps or keeps the input of an ISO_OPEN_DECODER. */
void source_open(const iso_open *open, int descriptor);
/* Applies the input state of a request. */
void source_update(const iso_input *input);
void source_close(void);

/* ---- sink.c ---- */
void sink_begin(uint32_t flags);
/* Sends the gathered bytes; CPI_OK, or the first failure of the host's sink. */
cpi_status sink_flush(void);
/* Returns the remaining bytes for the reply; CPI_OK, or the first failure of the host's sink. */
cpi_status sink_rest(struct iovec *part, uint32_t *count);
void sink_end(void);

/* ---- options.c ---- */

/* Rebuilds the options after an iso_open, valid until options_end. NULL only without memory. */
const cpi_options *options_begin(const uint8_t *bytes, size_t length, uint32_t count);
void options_end(void);

/* ---- surfaces.c ---- */

/* Maps the memory of a surface unless it is mapped, and fills the plugin's surface. */
void surface_open(wire_message *message, const iso_surface *wanted, cpi_surface *surface);

/* ---- decoder_calls.c, encoder_calls.c, rewrite_calls.c ---- */

/* Reads the metadata that follows its head in a message. Returns the number of bytes read. */
size_t blob_read(cpi_blob *blob, const iso_blob *head, const uint8_t *behind, size_t length);
/* Serve one request; `reply` is zero except for the size of its error. 0: another file serves the request. */
int decoder_serve(wire_message *message, iso_reply *reply);
int encoder_serve(wire_message *message, iso_reply *reply);
int rewrite_serve(wire_message *message, iso_reply *reply);
/* Fills in the parts that follow the reply to an ISO_BLOB, at most 3. Returns how many there are. */
int decoder_reply_tail(const iso_reply *reply, struct iovec *parts);
void decoder_close(void);
void encoder_close(void);

#endif
