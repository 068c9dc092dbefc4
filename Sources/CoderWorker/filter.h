/*
 * filter.h - the two system call filters, as programs for the kernel's classic BPF machine.
 *
 * A refusal that matters is a trap: the handler in violation.c reports it and the process ends. A quiet refusal is an
 * errno that libraries are prepared for; while recording it is a trap with that errno as data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FILTER_H
#define FILTER_H

/* The flags of the one fork that the first filter lets through. */
#define FORK_FLAGS (CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/* What constructors and init of a plugin may not do. */
void filter_loading(void);

/* The little that is left before the first byte of input, for all threads of the process. */
void filter_seal(int may_start_threads, int record);

#endif
