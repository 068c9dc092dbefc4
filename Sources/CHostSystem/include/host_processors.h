/*
 * host_processors.h - which processors threads of this process run on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_PROCESSORS_H
#define HOST_PROCESSORS_H

/* The processors that this thread may use, or might use before it was bound to one of them. */
int host_processor_count(void);

/* Binds this thread to one of the processors that it may use, by its number among them from 0; -1 with errno on failure. */
int host_bind_processor(int index);

/* The processor that this thread was bound to; -1 where it was not. */
int host_bound_processor(void);

/* Lifts the binding of this thread, or binds it again; what it starts in between may run on all its processors. */
void host_lift_binding(int is_lifted);

#endif
