/*
 * wire.h - packets on the socket of this process, which is always descriptor 3.
 *
 * Whatever is no message of this version ends the process, and so does the end of the socket: neither comes back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WIRE_H
#define WIRE_H

#include <isolation_wire.h>
#include <sys/uio.h>

typedef struct wire_message {
    uint16_t       type;
    uint64_t       session;
    uint32_t       sequence;
    const uint8_t *body; /* aligned for any type; valid until the next wire_receive */
    size_t         length;
    int            descriptors[ISO_DESCRIPTOR_LIMIT]; /* -1: none, or taken */
} wire_message;

/* Waits for a message. */
void wire_receive(wire_message *message);

/* Waits for the answer to an ISO_WRITE or ISO_WRITE_AT, and leaves the message that is being served alone. */
cpi_status wire_receive_written(uint64_t session, uint32_t sequence);

/* Hands a descriptor over to the caller; ends the process when the message has none there. */
int wire_take(wire_message *message, int index);

/* Closes the descriptors that nobody took. */
void wire_drop(wire_message *message);

/* The body as a struct of the given size, of which the rest may follow; ends the process when it is shorter. */
const void *wire_body(const wire_message *message, size_t size);

/* What came is not what the two agreed on. */
_Noreturn void wire_malformed(void);

/* Sends a message in as many packets as it takes. */
void wire_send(uint16_t type, uint64_t session, uint32_t sequence, const struct iovec *parts, int part_count);

/* Sends a message about no session, of one packet, with one descriptor; -1 = none. */
void wire_send_descriptor(uint16_t type, uint32_t sequence, const void *body, size_t length, int descriptor);

#endif
