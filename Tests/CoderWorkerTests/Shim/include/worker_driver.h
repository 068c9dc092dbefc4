/*
 * worker_driver.h - the host's side of isolation_wire.h for tests: packets with descriptors, processes with a socket
 * in the right place. It shares no code with coderhost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WORKER_DRIVER_H
#define WORKER_DRIVER_H

#include <isolation_wire.h>
#include <stddef.h>
#include <stdint.h>

/* Starts the worker, through `denier` with `words` unless NULL. Returns the process number, or -errno. */
int driver_start(const char *denier, const char *words, const char *worker, int *control, int *guardian);

/* Creates a pair of packet sockets; returns 0, or -errno. */
int driver_pair(int *ends);

/* Creates memory of `capacity` bytes that begins with `count` given bytes; -errno. Sealed: read-only. */
int driver_memory(const void *bytes, size_t count, size_t capacity, int sealed);

/* Sends a message in as many packets as needed. 0, or -errno. */
int driver_send(int socket, uint16_t type, uint64_t session, uint32_t sequence, const void *body, size_t length,
                const int *descriptors, int count);

/* Sends any bytes as one packet. 0, or -errno. */
int driver_send_bytes(int socket, const void *bytes, size_t length);

/*
 * Receives one packet; `body` has room for ISO_BODY_LIMIT bytes. 1, 0 at the end of the socket, -errno, or -ETIMEDOUT.
 * Returns the first descriptor of the packet, or -1.
 */
int driver_receive(int socket, iso_header *header, void *body, int *descriptor, int milliseconds);

/* Waits for a child. 1 and its status, or 0 after the timeout. */
int driver_wait(int process, int *status, int milliseconds);

/* Ends a process by its descriptor; 0, or -errno. */
int driver_kill(int pidfd, int signal_number);

/* Processes of a session (see setsid) that have not ended. */
int driver_count_session(int session);

/* Maps shared memory; NULL on failure. */
void *driver_map(int descriptor, size_t length);
void driver_unmap(void *memory, size_t length);

/* Asks the session to end. */
void driver_want_progress(iso_shared *shared);
void driver_cancel(iso_shared *shared);

#endif
