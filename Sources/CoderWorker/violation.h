/*
 * violation.h - handles forbidden system calls of a plugin, and the end of the process by a signal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIOLATION_H
#define VIOLATION_H

#include <isolation_wire.h>

/* Sets the current request for the report; call it before plugin code runs. */
void violation_context(uint64_t session, uint32_t sequence, uint32_t phase);

/* Sets the page for recording quiet denials; NULL: none. */
void violation_record(iso_shared *shared);

/* Installs the handler for the filters' signal. */
void violation_watch(void);

/*
 * The first process of a PID namespace ignores signals without a handler, so abort() in a plugin or a limit of
 * processor time would have no effect. Makes such signals end the process, and stores the signal number for its
 * parent.
 */
void violation_end_by_signals(volatile int *number);

/* Restores the default signals in a child of that process. */
void violation_end_as_usual(void);

#endif
