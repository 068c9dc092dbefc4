/*
 * filter.h - the two system call filters, as programs for the kernel's classic BPF machine.
 *
 * A serious denial is a trap: the handler in violation.c reports it, and the process ends. A quiet denial is an errno
 * that libraries handle; while recording, it is a trap with that errno as data.
 *
 * Both filters are allow lists. A process in which a plugin's constructors have run installs the second filter, so a
 * malicious plugin could have prevented it. The first filter still holds: it sends the calls that only loading needs
 * to the guardian, which permits them while the plugin is loaded and denies them afterwards. The guardian also decides
 * on every fork and every thread. It checks only registers, never memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FILTER_H
#define FILTER_H

/* The flags of the only fork that the first filter permits. */
#define FORK_FLAGS (CLONE_PIDFD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/*
 * Installs the filter for constructors and init of a plugin. Returns the descriptor for the guardian's answers, or
 * -errno: then no guardian is asked, and the calls for loading are permitted until the second filter.
 */
int filter_loading(int can_ask, int may_start_threads, int has_pool);

/* The errno of the seal for a call that libraries can do without; 0: the call is a violation. */
int filter_quiet_error(int call);

/* Installs the second filter, for all threads of the process, before the first byte of input. */
void filter_seal(int may_start_threads, int record);

#endif
