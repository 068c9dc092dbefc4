/*
 * listener.h - receives and answers the system calls that the first filter sends to the guardian.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <stdint.h>
#include <sys/types.h>

typedef struct listener_call {
    int      number;
    uint64_t first; /* its first argument, a register */
    pid_t    thread; /* the calling thread, as this process sees it; 0 = not visible */
} listener_call;

/* Prepares the filter's descriptor. Returns 0, or an errno if no call can be answered. */
int listener_begin(int descriptor);

/* Receives a call that waits for an answer; valid until the next one. NULL: its thread has ended. */
const listener_call *listener_receive(int descriptor);

/* Answers the latest call: 0 permits it, an errno denies it. Without an answer the call never returns. */
void listener_answer(int descriptor, int error);

#endif
