/*
 * host_disk.h - system calls for a folder that many processes write to: file facts with the creation date, and setting
 * dates. Each function returns -1 on failure, with the reason in errno.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_DISK_H
#define HOST_DISK_H

#include <stddef.h>
#include <stdint.h>

/* Dates are nanoseconds since 1970. */
typedef struct host_file_facts {
    int64_t  accessed;
    int64_t  modified;
    int64_t  changed;
    int64_t  born; /* 0 if the file system does not store it */
    uint64_t inode;
    uint64_t size;
    uint64_t allocated; /* bytes, not blocks */
    uint32_t mode;
    uint32_t links;
    uint32_t owner;
    uint32_t group;
} host_file_facts;

/* Reads the facts of a name in an open folder, without following a link; of the open file itself if the name is "".
The corresponding function is `statx`. */
int host_facts(int folder, const char *_Nonnull name, host_file_facts *_Nonnull facts);

/* Leaves a date unchanged. */
#define HOST_DATE_KEPT INT64_MIN

/* Sets the dates of an open file. The corresponding function is `futimens`. */
int host_set_dates(int descriptor, int64_t accessed, int64_t modified);

/* Opens a file for reading without following a link, without blocking, and, if permitted, without changing its access
date. */
int host_open_quietly(const char *_Nonnull path);

/* The working directory, as the first argument of host_facts. */
int host_working_folder(void);

/* Nanoseconds on a clock: 0 calendar time since 1970; 1 time since boot, including sleep. */
int64_t host_clock(int kind);

#endif
