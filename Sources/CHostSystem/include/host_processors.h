/*
 * host_processors.h - the processors that threads of this process run on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_PROCESSORS_H
#define HOST_PROCESSORS_H

/* The number of processors that this thread may use, or could use before it was bound to one. */
int host_processor_count(void);

/* Binds this thread to one of its allowed processors, numbered from 0; -1 with errno on failure. */
int host_bind_processor(int index);

/* The processor that this thread was bound to; -1 if it is not bound. */
int host_bound_processor(void);

/* Lifts or restores this thread's binding; threads and processes started meanwhile may use all its processors. */
void host_lift_binding(int is_lifted);

#endif
