/*
 * filter.h - the two system call filters, as programs for the kernel's classic BPF machine.
 *
 * A refusal that matters is a trap: the handler in violation.c reports it and the process ends. A quiet refusal is an
 * errno that libraries are prepared for; while recording it is a trap with that errno as data.
 *
 * Both filters are lists of what is allowed. The second one is installed by a process in which a plugin's constructors
 * have run, so such a plugin could have prevented it. The first filter still holds: it puts the calls that only loading
 * needs to the guardian, which permits them while the plugin is loaded and refuses them from then on. The guardian also
 * decides on every fork and every thread. It looks at registers only, never at memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FILTER_H
#define FILTER_H

/* The flags of the one fork that the first filter lets through. */
#define FORK_FLAGS (CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/*
 * Installs the filter for constructors and init of a plugin. Returns the descriptor at which the guardian is asked, or
 * -errno: then no process is asked, and what loading needs is allowed until the second filter.
 */
int filter_loading(int can_ask, int may_start_threads, int has_pool);

/* What the seal answers to a call that libraries try and get along without; 0: it is a violation. */
int filter_quiet_error(int call);

/* The little that is left before the first byte of input, for all threads of the process. */
void filter_seal(int may_start_threads, int record);

#endif
