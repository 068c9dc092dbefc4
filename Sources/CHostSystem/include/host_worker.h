/*
 * host_worker.h - the system calls around an isolated process: start, talk, share memory, end.
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

/* Starts a program with nothing but `socket` as descriptor 3, `guardian` as 4 and, unless it is -1, `group` as 5: no
   environment, no signal blocked or ignored, standard streams on /dev/null. Answers the process number; `handle` is a
   pidfd, or -1 on kernels that have none. */
int host_start_worker(const char *_Nonnull path, int socket, int guardian, int group, int *_Nonnull handle);

/* Signals a process: by its pidfd, or by its number where that is -1 and the number is that of a child. */
int host_signal(int handle, int process, int number);

/* Whether the process behind a pidfd has ended, after waiting up to `milliseconds`. */
int host_has_ended(int handle, int milliseconds);

/* The number of the parent of the process behind a descriptor, as the kernel knows it: HOST_HAS_ENDED where that process
   was reaped, 0 where the descriptor is none of a process or the parent cannot be told. */
int host_parent(int handle);
#define HOST_HAS_ENDED (-1)

/* Has the process behind a pidfd run where this thread may; only a child of `parent`. */
int host_share_processors(int handle, int parent);

/* How a child has ended, after waiting up to `milliseconds`: its exit code, or 128 plus the number of a signal; -1 where
   it goes on or that cannot be told. The child stays to be reaped. */
int host_ending(int process, int milliseconds);

/* Waits for a child that is ending, so that nothing of it is left. */
int host_reap(int process);

/* Sends one packet with up to four descriptors, after waiting up to `milliseconds` for room; fails with EAGAIN when
   there was none. No signal is raised when nobody reads. */
int64_t host_send_packet(int socket, const void *_Nonnull head, size_t head_count, const void *_Nullable body,
                         size_t body_count, const int *_Nullable descriptors, uint32_t descriptor_count,
                         int milliseconds);

/* Receives one packet after waiting up to `milliseconds`, with as many descriptors as `descriptor_count` has room for: four
   or none. Answers its bytes, 0 at the end; fails with EAGAIN when there was none, and with EMSGSIZE when it is larger than
   `capacity` or has more descriptors, which are closed. */
int64_t host_receive_packet(int socket, void *_Nonnull buffer, size_t capacity, int *_Nonnull descriptors,
                            uint32_t *_Nonnull descriptor_count, int milliseconds);

/* Memory without a name that others can map; its size is final, and so are its other properties unless `is_open`. */
int host_shared_memory(const char *_Nonnull name, uint64_t count, int is_open);

/* Makes open memory read-only for everybody who does not map it for writing now, for good. */
int host_forbid_writing(int descriptor);

/* Atomic access to words that another process reads or writes at the same time. */
void host_store_word(uint32_t *_Nonnull word, uint32_t value);
uint32_t host_load_word(const uint32_t *_Nonnull word);
void host_store_long(uint64_t *_Nonnull word, uint64_t value);

/* The file behind a handle of `dlopen`; valid as long as the handle. */
const char *_Nullable host_path_of_library(void *_Nonnull handle);

/* The name of a system call of this machine; NULL for one that is not in the list. */
const char *_Nullable host_system_call_name(int number);

#endif
