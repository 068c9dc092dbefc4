/*
 * confinement.h - restricts the process of a check so that it cannot cause damage.
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

/* 1 if this program was built with a sanitizer, which needs more than a sealed process may use. */
int kit_is_sanitized(void);

/*
 * Limits this process and denies the system calls that a plugin never needs: other processes, sockets, writing to
 * files. Denied calls are recorded on the board. 0, or -1 if the kernel has no filters.
 */
int kit_confine(kit_board *_Nonnull board, kit_bounds bounds);

/* Denies reading files from now on. */
int kit_refuse_files(void);

/* The name of a system call that the kit denies. */
const char *_Nonnull kit_call_name(int32_t number);

#define KIT_KIND_PROCESS 1 /* starts, ends or inspects processes        */
#define KIT_KIND_NETWORK 2
#define KIT_KIND_FILE    3
#define KIT_KIND_SYSTEM  4 /* changes the machine                         */
int kit_call_kind(int32_t number);

#endif
