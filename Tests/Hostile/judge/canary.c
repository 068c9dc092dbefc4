/*
 * canary.c - a process of the attacked user. Its memory, limits and state show the effects of an attack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "judge.h"

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

char canary_secret[16] = CANARY_SECRET;

static pid_t         canary;
static int           canary_user = -1;
static long          limit_before;
static cpu_set_t     processors_before;

static void end_canary(void) {
    if (canary > 0 && kill(canary, SIGKILL) == 0) waitpid(canary, NULL, 0);
    canary = 0;
}

/* Reads /proc, because prlimit(2) for another user's process needs a capability that a container may lack. */
static long descriptor_limit(void) {
    char path[64], line[256];
    long limit = -1;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)canary);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "Max open files %ld", &limit);
    if (file) fclose(file);
    return limit;
}

int canary_of(int user) {
    if (canary > 0 && canary_user == user) return (int)canary;
    end_canary();
    int  ready[2];
    char byte;
    if (pipe(ready) != 0) return -1;
    canary_user = user;
    canary = fork();
    if (canary == 0) {
        setsid();
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid((gid_t)user, (gid_t)user, (gid_t)user) != 0 ||
                               setresuid((uid_t)user, (uid_t)user, (uid_t)user) != 0))
            _exit(1);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* like any program that this user starts */
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        closefrom(1); /* including the pipe, because the process now belongs to the user */
        for (;;) pause();
    }
    close(ready[1]);
    ssize_t got = read(ready[0], &byte, 1);
    close(ready[0]);
    if (got != 0) return -1;
    limit_before = descriptor_limit();
    sched_getaffinity(canary, sizeof processors_before, &processors_before);
    return (int)canary;
}

static int is_traced(void) {
    char path[64], line[256];
    int  tracer = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)canary);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "TracerPid: %d", &tracer);
    if (file) fclose(file);
    return tracer != 0;
}

/* Whether a signal is pending on a busy machine; otherwise its effect would be attributed to the next attack. */
static int is_ending(void) {
    char               path[64], line[256];
    unsigned long long pending = 0, mask;
    snprintf(path, sizeof path, "/proc/%d/status", (int)canary);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1) pending |= mask;
    if (file) fclose(file);
    return (pending & (1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1))) != 0;
}

/* The next attack gets a new canary in any case. */
void canary_inspect(evidence *found) {
    int           status, before = found->count;
    cpu_set_t     processors;
    char          copy[sizeof canary_secret] = "";
    struct iovec  mine = {copy, sizeof copy}, theirs = {canary_secret, sizeof copy};
    if (waitpid(canary, &status, (is_ending() ? 0 : WNOHANG) | WUNTRACED) != 0) {
        notice(found, "the canary was %s", WIFSTOPPED(status) ? "stopped" : "killed");
        if (!WIFSTOPPED(status)) canary = 0;
        end_canary();
        return;
    }
    if (descriptor_limit() != limit_before) notice(found, "the canary's limits changed");
    if (sched_getaffinity(canary, sizeof processors, &processors) == 0 && !CPU_EQUAL(&processors, &processors_before))
        notice(found, "the canary's processors changed");
    errno = 0;
    if (getpriority(PRIO_PROCESS, (id_t)canary) != 0 && errno == 0) notice(found, "the canary's priority changed");
    if (sched_getscheduler(canary) != SCHED_OTHER) notice(found, "the canary's scheduling changed");
    if (is_traced()) notice(found, "the canary is traced");
    if (process_vm_readv(canary, &mine, 1, &theirs, 1, 0) == sizeof copy && memcmp(copy, canary_secret, sizeof copy) != 0)
        notice(found, "the canary's memory changed");
    if (found->count > before) end_canary();
}
