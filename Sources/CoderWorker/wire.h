/*
 * wire.h - packets on the socket of this process, which is always descriptor 3.
 *
 * Anything but a message of this version, and a closed socket, ends the process; the functions then do not return.
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

/* Waits for the answer to an ISO_WRITE or ISO_WRITE_AT; the current message stays valid. */
cpi_status wire_receive_written(uint64_t session, uint32_t sequence);

/* Passes a descriptor to the caller; ends the process if the message has none at this index. */
int wire_take(wire_message *message, int index);

/* Closes the descriptors that the caller did not take. */
void wire_drop(wire_message *message);

/* Returns the body, which begins with a struct of the given size; ends the process if the body is shorter. */
const void *wire_body(const wire_message *message, size_t size);

/* Ends the process after a protocol violation. */
_Noreturn void wire_malformed(void);

/* Sends a message in as many packets as needed. */
void wire_send(uint16_t type, uint64_t session, uint32_t sequence, const struct iovec *parts, int part_count);

/* Sends a message about no session, of one packet, with one descriptor; -1 = none. */
void wire_send_descriptor(uint16_t type, uint32_t sequence, const void *body, size_t length, int descriptor);

#endif
