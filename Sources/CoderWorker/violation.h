/*
 * violation.h - what happens when a plugin makes a forbidden system call, or when the process has to end by a signal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIOLATION_H
#define VIOLATION_H

#include <isolation_wire.h>

/* What is being done, for the report; set before a plugin's code is called. */
void violation_context(uint64_t session, uint32_t sequence, uint32_t phase);

/* Where quiet refusals are noted; NULL: nowhere. */
void violation_record(iso_shared *shared);

/* Takes the signal of the filters. */
void violation_watch(void);

/*
 * The first process of a PID namespace does not get a signal that it did not ask for, so that abort() in a plugin would
 * have no effect there, nor would a limit of processor time. Makes it end nevertheless, and leaves the number where its
 * parent finds it.
 */
void violation_end_by_signals(volatile int *number);

/* A child of that process gets signals like any other. */
void violation_end_as_usual(void);

#endif
