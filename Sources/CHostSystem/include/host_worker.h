/*
 * host_worker.h - system calls for an isolated process: start it, exchange packets, share memory, end it.
 *
 * Each returns -1 on failure, with the reason in errno.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_WORKER_H
#define HOST_WORKER_H

#include <stddef.h>
#include <stdint.h>

/* Two connected SOCK_SEQPACKET sockets. */
int host_socket_pair(int *_Nonnull first, int *_Nonnull second);

/* Starts a program with only `socket` as descriptor 3, `guardian` as 4 and, unless it is -1, `group` as 5. It has
no environment, no blocked or ignored signal, and standard streams on /dev/null. Returns the process number; `handle`
becomes a pidfd, or -1 if the kernel has none. */
int host_start_worker(const char *_Nonnull path, int socket, int guardian, int group, int *_Nonnull handle);

/* Signals a process: by its pidfd, or, if that is -1, by its number, which must be that of a child. */
int host_signal(int handle, int process, int number);

/* Whether the process behind a pidfd has ended, after waiting up to `milliseconds`. */
int host_has_ended(int handle, int milliseconds);

/* The parent's number of the process behind a pidfd, from the kernel: HOST_HAS_ENDED if that process was reaped, 0 if
the descriptor is not a pidfd or the parent is unknown. */
int host_parent(int handle);
#define HOST_HAS_ENDED (-1)

/* Lets the process behind a pidfd run on this thread's processors; only if it is a child of `parent`. */
int host_share_processors(int handle, int parent);

/* The exit code of a child, or HOST_ENDED_BY plus a signal number, after waiting up to `milliseconds`; -1 if the child
still runs or the result is unknown. The child stays to be reaped. */
#define HOST_ENDED_BY 256
int host_ending(int process, int milliseconds);

/* Reaps an ending child. */
int host_reap(int process);

/* Sends one packet with up to four descriptors, after waiting up to `milliseconds` for room; fails with EAGAIN if there
is no room. A closed peer raises no signal. */
int64_t host_send_packet(int socket, const void *_Nonnull head, size_t head_count, const void *_Nullable body,
                         size_t body_count, const int *_Nullable descriptors, uint32_t descriptor_count,
                         int milliseconds);

/* Receives one packet after waiting up to `milliseconds`, with up to `descriptor_count` descriptors: four or none.
Returns its bytes, 0 at the end. Fails with EAGAIN if no packet arrived. Fails with EMSGSIZE if the packet exceeds
`capacity` or has more descriptors, which are closed. */
int64_t host_receive_packet(int socket, void *_Nonnull buffer, size_t capacity, int *_Nonnull descriptors,
                            uint32_t *_Nonnull descriptor_count, int milliseconds);

/* Creates unnamed memory for sharing; its size is sealed, and so are its other properties unless `is_open`. */
int host_shared_memory(const char *_Nonnull name, uint64_t count, int is_open);

/* Makes open memory permanently read-only, except for existing writable mappings. */
int host_forbid_writing(int descriptor);

/* Atomic access to words that another process reads or writes at the same time. */
void host_store_word(uint32_t *_Nonnull word, uint32_t value);
uint32_t host_load_word(const uint32_t *_Nonnull word);
void host_store_long(uint64_t *_Nonnull word, uint64_t value);

/* The path of a library opened by `dlopen`; valid as long as its handle. */
const char *_Nullable host_path_of_library(void *_Nonnull handle);

/* The name of a system call of this machine; NULL if it is not in the list. */
const char *_Nullable host_system_call_name(int number);

#endif
