/*
 * child.h - the process of a check, as the kit starts it and waits for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_CHILD_H
#define CONFORMANCE_CHILD_H

#include <stdint.h>

/* Descriptors of a child. */
#define KIT_BOARD_DESCRIPTOR 3
#define KIT_SAMPLES_DESCRIPTOR 4

/* Starts a program in a process group of its own, in `folder`, with nothing to read. -1 on failure. */
int kit_spawn(char *_Nullable const *_Nonnull arguments, int board, int samples, int out, int err,
              const char *_Nonnull folder);

typedef struct kit_end {
    int32_t exit_status; /* -1 when a signal ended it */
    int32_t signal;
    int32_t is_late;     /* it was ended because its time was up */
    int32_t is_interrupted; /* it was ended because this process is to end */
    int32_t strays;      /* processes it left running; they are gone now */
    double  seconds;
    double  processor_seconds;
} kit_end;

/* Waits for a child for so many milliseconds, then ends it and what it started. */
kit_end kit_wait(int child, int milliseconds);

/* Ends what a signal interrupts: Ctrl-C reaches only the parent, since a child has a group of its own. */
void kit_end_with_parent(void);

/* Runs `body` in a copy of this process and stores its answer. 0, or -1 when the copy crashed or took too long. */
int kit_forked(uint64_t (*_Nonnull body)(void *_Nullable context), void *_Nullable context, uint32_t seconds,
               uint64_t *_Nonnull answer);

#endif
