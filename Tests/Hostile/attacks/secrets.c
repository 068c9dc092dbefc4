/*
 * secrets.c - information within a plugin's reach: environment, arguments, file names, and addresses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <sys/auxv.h>

extern char **environ;

/* Compares with a text whose characters are shifted by one, so that the search does not find the text itself. */
static int is_at(const char *at, const char *shifted) {
    for (; *shifted; at++, shifted++) {
        if (*at != *shifted - 1) return 0;
    }
    return 1;
}
/* Searches from the newest frame to the end of the stack, with arguments, environment and auxiliary vector. */
static int stack_holds(const char *shifted) {
    const char   *at = (const char *)__builtin_frame_address(0);
    unsigned char resident;
    for (uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095; mincore((void *)page, 4096, &resident) == 0; page += 4096) {
        const char *end = (const char *)page + 4096 - 32;
        for (const char *here = page < (uintptr_t)at ? at : (const char *)page; here < end; here++) {
            if (is_at(here, shifted)) return 1;
        }
    }
    return 0;
}
static int file_holds(const char *path, const char *text) {
    static char room[1 << 16];
    int         descriptor = open(path, O_RDONLY);
    ssize_t     count = descriptor >= 0 ? read(descriptor, room, sizeof room) : 0;
    if (descriptor >= 0) close(descriptor);
    return count > 0 && memmem(room, (size_t)count, text, strlen(text)) != NULL;
}

int find_variable(void) {
    return getenv(VARIABLE_NAME) != NULL || stack_holds("DPEFSIPTU`DBOBSZ>" /* CODERHOST_CANARY= */) ||
           file_holds("/proc/self/environ", VARIABLE_NAME) ||
           file_holds("/proc/1/environ", VARIABLE_NAME);
}
/* The judge uses this name for the command's files. */
int find_arguments(void) {
    return stack_holds("qsjwbuf.obnf" /* private-name */) || file_holds("/proc/self/cmdline", "private-name") ||
           file_holds("/proc/1/cmdline", "private-name");
}
int find_parent(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    return file_holds(path, VARIABLE_NAME);
}
int find_folder(void) {
    char path[512];
    return syscall(SYS_getcwd, path, sizeof path) > 0 && strstr(path, choice.place) != NULL;
}
int find_maps(void) { return file_holds("/proc/self/maps", "r-xp"); }
int find_vector(void) { return file_holds("/proc/self/auxv", "") || file_holds("/proc/self/stat", ""); }
int find_program(void) {
    const char *path = (const char *)getauxval(AT_EXECFN);
    return path && strstr(path, "coderhost-worker") != NULL && file_holds(path, "ELF");
}
