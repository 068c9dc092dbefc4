/*
 * attack.h - declarations shared by all attacks.
 *
 * An attack returns 1 if it had an effect that the sandbox must prevent, else 0. The judge detects most effects from
 * outside and needs the return value only if the plugin alone can detect them, for example for reading a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOSTILE_ATTACK_H
#define HOSTILE_ATTACK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <coder_plugin.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "../choice.h"

extern struct choice choice;

/* The current image, for attacks that run AT_DECODE, UNSEALED or LEAK. */
struct scene {
    int                 stage; /* the current stage; AT_LOAD in the first half of LEAK */
    const cpi_services *services;
    const cpi_source   *source;
    const cpi_surface  *surface;
    int                 is_second; /* 1: the second image of the command */
};
extern struct scene scene;

/* The path of a file in the private folder. */
static inline const char *in_place(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", choice.place, name);
    return path;
}

static inline void wait_milliseconds(int count) {
    struct timespec time = {count / 1000, (count % 1000) * 1000000L};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Whether this is the process of the host, whose environment has this variable; a worker's environment is empty. */
static inline int is_in_host(void) { return getenv(VARIABLE_NAME) != NULL; }

/* Creates a file in a host that loads the plugin in its own process after a failure. */
static inline int leaves_proof(void) {
    return is_in_host() && syscall(SYS_openat, AT_FDCWD, in_place("new"), O_CREAT | O_WRONLY, 0600) >= 0;
}

/* Forks with the worker's own flags, the only ones that the loading filter permits. */
long fork_as_the_worker(void);

/* Numbers that the C library's headers may lack; they are equal on all architectures. */
enum {
    CALL_PIDFD_SEND_SIGNAL = 424, CALL_IO_URING_SETUP = 425, CALL_OPEN_TREE = 428, CALL_FSOPEN = 430,
    CALL_PIDFD_OPEN = 434, CALL_CLONE3 = 435, CALL_OPENAT2 = 437, CALL_PIDFD_GETFD = 438,
    CALL_PROCESS_MADVISE = 440, CALL_MOUNT_SETATTR = 442, CALL_MEMFD_SECRET = 447, CALL_PROCESS_MRELEASE = 448,
    CALL_CACHESTAT = 451, CALL_FCHMODAT2 = 452, CALL_MAP_SHADOW_STACK = 453, CALL_LISTMOUNT = 458,
    CALL_SETXATTRAT = 463, CALL_OPEN_TREE_ATTR = 467, CALL_FILE_SETATTR = 469,
};

#define ATTACK(name, issue, stages, effect, walls, text) int name(void);
#include "../attacks.def"
#undef ATTACK

#endif
