/*
 * child.h - starts the process of a check and waits for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_CHILD_H
#define CONFORMANCE_CHILD_H

#include <stdint.h>

/* Descriptors of a child. */
#define KIT_BOARD_DESCRIPTOR 3
#define KIT_SAMPLES_DESCRIPTOR 4

/* Starts a program in its own process group, in `folder`, with empty standard input. -1 on failure. */
int kit_spawn(char *_Nullable const *_Nonnull arguments, int board, int samples, int out, int err,
              const char *_Nonnull folder);

typedef struct kit_end {
    int32_t exit_status; /* -1 when a signal ended it */
    int32_t signal;
    int32_t is_late;     /* it was ended by the timeout */
    int32_t is_interrupted; /* it was ended because this process is ending */
    int32_t strays;      /* processes it left running, ended since */
    double  seconds;
    double  processor_seconds;
} kit_end;

/* Waits for a child, at most `milliseconds`, then ends it and its descendants. */
kit_end kit_wait(int child, int milliseconds);

/* Ends children when a signal ends this process: Ctrl-C reaches only the parent, because a child has its own group. */
void kit_end_with_parent(void);

/* Runs `body` in a forked process and stores its result. 0, or -1 if the process crashed or timed out. */
int kit_forked(uint64_t (*_Nonnull body)(void *_Nullable context), void *_Nullable context, uint32_t seconds,
               uint64_t *_Nonnull answer);

#endif
