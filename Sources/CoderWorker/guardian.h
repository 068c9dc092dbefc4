/*
 * guardian.h - the process that the host started and waits for. It runs nothing of a plugin: its child does, and the
 * two end together, however one of them, or the host, comes to its end.
 *
 * It also holds the seal from outside: the first filter puts system calls to it (see filter.h). It lets those of loading
 * through until the host says ISO_SEAL on a socket that the child does not have, and never again after that. It permits
 * one fork for each ISO_PERMIT of the host, and as many threads as the plugin has declared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GUARDIAN_H
#define GUARDIAN_H

#include <stdint.h>

/* Forks; comes back only in the child, which is the first process of a PID namespace where there is one. */
void guardian_fork(void);

/*
 * In the child, once, before anything of a plugin runs: gives away the descriptor at which the first filter asks, or
 * tells the -errno that there is none for, and how many threads the plugin may have at one time. Closes the descriptor
 * here and waits until the guardian has it.
 */
void guardian_hand_over(int listener, uint32_t threads, uint32_t pool);

/* In the child: whether the guardian has taken it. */
extern int guardian_holds;

/* Readable (and at its end) as soon as the guardian is gone. */
extern int guardian_pipe;

#endif
