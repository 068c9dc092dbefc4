/*
 * worker.h - the sealed process that serves sessions, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WORKER_H
#define WORKER_H

#include <isolation_wire.h>

/* Seals this process and serves requests from a socket until it ends. `shared` is the page shared with the host. */
_Noreturn void worker_run(int socket, int shared, const iso_fork *limits, int record, uint32_t idle_seconds);

#endif
