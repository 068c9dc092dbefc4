/*
 * worker_driver.h - what a test needs of the host's side of isolation_wire.h: packets with descriptors, processes with
 * a socket in the right place. It shares no line with coderhost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WORKER_DRIVER_H
#define WORKER_DRIVER_H

#include <isolation_wire.h>
#include <stddef.h>
#include <stdint.h>

/* Starts the worker, under `denier` with `words` where that is not NULL. The process number, or -errno. */
int driver_start(const char *denier, const char *words, const char *worker, int *control, int *guardian);

/* Two ends of a socket for packets; 0, or -errno. */
int driver_pair(int *ends);

/* Memory with `count` bytes in the beginning and room for `capacity`; -errno. Sealed: nobody may change it. */
int driver_memory(const void *bytes, size_t count, size_t capacity, int sealed);

/* Sends a message in as many packets as it takes. 0, or -errno. */
int driver_send(int socket, uint16_t type, uint64_t session, uint32_t sequence, const void *body, size_t length,
                const int *descriptors, int count);

/* Sends bytes as one packet, whatever they are. 0, or -errno. */
int driver_send_bytes(int socket, const void *bytes, size_t length);

/*
 * Takes one packet; `body` has room for ISO_BODY_LIMIT bytes. 1, 0 at the end of the socket, -errno, or -ETIMEDOUT.
 * Of the descriptors that come with it the first is handed out, -1 = none.
 */
int driver_receive(int socket, iso_header *header, void *body, int *descriptor, int milliseconds);

/* Waits for a child. 1 and its status, 0 when the time is up. */
int driver_wait(int process, int *status, int milliseconds);

/* Ends a process by its descriptor; 0, or -errno. */
int driver_kill(int pidfd, int signal_number);

/* Processes of a session (see setsid) that have not ended. */
int driver_count_session(int session);

/* Maps memory that both share; NULL on failure. */
void *driver_map(int descriptor, size_t length);
void driver_unmap(void *memory, size_t length);

/* Asks the session to end. */
void driver_want_progress(iso_shared *shared);
void driver_cancel(iso_shared *shared);

#endif
