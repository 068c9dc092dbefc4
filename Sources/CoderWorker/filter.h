/*
 * filter.h - the two system call filters, as programs for the kernel's classic BPF machine.
 *
 * A refusal that matters is a trap: the handler in violation.c reports it and the process ends. A quiet refusal is an
 * errno that libraries are prepared for; while recording it is a trap with that errno as data.
 *
 * The second filter is installed by a process in which a plugin's constructors have run, and could have been bent. What
 * holds such a plugin is the first one: calls that a sealed process has no need of are put to the guardian, which lets
 * them through while the plugin is loaded and refuses them from then on. It decides by the number of the call alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FILTER_H
#define FILTER_H

/* The flags of the one fork that the first filter lets through. */
#define FORK_FLAGS (CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/*
 * What constructors and init of a plugin may not do. Answers the descriptor at which the guardian is asked, or -errno:
 * then nobody is, and all that is not forbidden is allowed until the second filter.
 */
int filter_loading(int can_ask);

/* What the seal answers to a call that libraries try and get along without; 0: it is a violation. */
int filter_quiet_error(int call);

/* The little that is left before the first byte of input, for all threads of the process. */
void filter_seal(int may_start_threads, int record);

#endif
