/*
 * guardian.h - the process that the host starts and waits for. It runs no plugin code; its child does. If the
 * guardian, its child or the host ends, the others end too.
 *
 * The guardian also holds the seal from outside: the first filter sends system calls to it (see filter.h). It permits
 * the calls of loading until the host sends ISO_SEAL on a socket that the child does not have, and denies them
 * afterwards. It permits one fork for each ISO_PERMIT of the host, and as many threads as the plugin has declared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GUARDIAN_H
#define GUARDIAN_H

#include <stdint.h>

/* Forks; returns only in the child, which is the first process of a PID namespace if there is one. */
void guardian_fork(void);

/*
 * In the child, once, before any plugin code runs: passes the descriptor of the first filter to the guardian, or the
 * -errno for its absence, and the number of threads the plugin may have. Closes the descriptor here and waits until
 * the guardian has received it.
 */
void guardian_hand_over(int listener, uint32_t threads, uint32_t pool);

/* In the child: whether the guardian has received it. */
extern int guardian_holds;

/* Readable (and at its end) as soon as the guardian has ended. */
extern int guardian_pipe;

#endif
