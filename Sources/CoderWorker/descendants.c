#define _GNU_SOURCE
#include "descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The number of retries, half a millisecond each: the kernel may list children late, or remove them late. */
#define PATIENCE 2000

static pid_t parent_of(pid_t process) {
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor >= 0 ? read(descriptor, text, sizeof text - 1) : -1;
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (length <= 0) {
        return -1;
    }
    text[length] = '\0';
    /* number (name) state parent; parse after the name, which may hold any characters. */
    const char *behind = strrchr(text, ')');
    char state;
    int parent;
    return behind && sscanf(behind + 1, " %c %d", &state, &parent) == 2 ? (pid_t)parent : -1;
}

/* A child's number is not reused before this process waits for it. */
static void kill_children(void) {
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process > 0 && parent_of(process) == getpid()) {
            kill(process, SIGKILL);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

void descendants_end(void) {
    for (int vain = 0; vain < PATIENCE; vain++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0) {
            vain = 0;
        }
        if (ended < 0 && errno != EINTR) {
            return;
        }
        /* When a child ends, this process adopts its children. */
        kill_children();
        struct timespec moment = {0, 500000};
        nanosleep(&moment, NULL);
    }
}
