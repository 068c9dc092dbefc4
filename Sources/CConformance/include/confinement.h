/*
 * confinement.h - what the process of a check is refused, so that it can do no harm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFORMANCE_CONFINEMENT_H
#define CONFORMANCE_CONFINEMENT_H

#include "board.h"

typedef struct kit_bounds {
    uint64_t memory;      /* bytes of private memory   */
    uint64_t descriptors;
    uint64_t file_bytes;
    uint64_t processor_seconds;
} kit_bounds;

/* 1 where this program was built with a sanitizer, which needs more than a sealed process is given. */
int kit_is_sanitized(void);

/*
 * Bounds this process and has the kernel refuse what a plugin never needs: other processes, sockets, writing to files.
 * What is refused is noted on the board. 0, or -1 where the kernel has no filters.
 */
int kit_confine(kit_board *_Nonnull board, kit_bounds bounds);

/* From now on files cannot even be read. */
int kit_refuse_files(void);

/* The name of a system call that the kit refuses. */
const char *_Nonnull kit_call_name(int32_t number);

#define KIT_KIND_PROCESS 1 /* starts, ends or looks into processes        */
#define KIT_KIND_NETWORK 2
#define KIT_KIND_FILE    3
#define KIT_KIND_SYSTEM  4 /* changes the machine                         */
int kit_call_kind(int32_t number);

#endif
