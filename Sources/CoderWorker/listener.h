/*
 * listener.h - receives and answers the system calls that the first filter puts to the guardian.
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

/* Prepares a descriptor of the filter. 0, or an errno: then no call can be answered. */
int listener_begin(int descriptor);

/* Receives a call that waits for an answer; valid until the next one. NULL: its thread has gone. */
const listener_call *listener_receive(int descriptor);

/* Answers the call received last: 0 lets it through, an errno refuses it. Without an answer it never returns. */
void listener_answer(int descriptor, int error);

#endif
