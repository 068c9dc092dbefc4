/*
 * session.h - one session of the plugin, and what it is lent.
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

/* There is one at a time, at an address that never changes: a thread of a plugin may outlive its session. */
extern session current;
/* The page that the host writes to, too. */
extern iso_shared *shared_page;

/* ---- services.c ---- */
void services_begin(void);
/* Counts the pixels of a request against the memory limit of the session, until the next call. */
void services_hold(uint64_t bytes);

/* ---- source.c ---- */

/* Maps or keeps the input of an ISO_OPEN_DECODER. */
void source_open(const iso_open *open, int descriptor);
/* What a request says of the input. */
void source_update(const iso_input *input);
void source_close(void);

/* ---- sink.c ---- */
void sink_begin(uint32_t flags);
/* Hands over what was gathered; CPI_OK, or what the host's sink answered first. */
cpi_status sink_flush(void);
/* What is left of it, for the reply; CPI_OK, or what the host's sink answered first. */
cpi_status sink_rest(struct iovec *part, uint32_t *count);
void sink_end(void);

/* ---- options.c ---- */

/* Rebuilds the options behind an iso_open; they live until options_end. NULL only where there is no memory. */
const cpi_options *options_begin(const uint8_t *bytes, size_t length, uint32_t count);
void options_end(void);

/* ---- surfaces.c ---- */

/* Maps the memory of a surface where it is not mapped yet, and fills in what a plugin sees of it. */
void surface_open(wire_message *message, const iso_surface *wanted, cpi_surface *surface);

/* ---- decoder_calls.c, encoder_calls.c, rewrite_calls.c ---- */

/* Reads the metadata that stands behind its head in a message. Returns the bytes that it takes there. */
size_t blob_read(cpi_blob *blob, const iso_blob *head, const uint8_t *behind, size_t length);
/* Serve one request; `reply` is zero but for the size of its error. 0: it is none of theirs. */
int decoder_serve(wire_message *message, iso_reply *reply);
int encoder_serve(wire_message *message, iso_reply *reply);
int rewrite_serve(wire_message *message, iso_reply *reply);
/* Fills in the parts that follow the reply to an ISO_BLOB, at most 3. Returns how many there are. */
int decoder_reply_tail(const iso_reply *reply, struct iovec *parts);
void decoder_close(void);
void encoder_close(void);

#endif
