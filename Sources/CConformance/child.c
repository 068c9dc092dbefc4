#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int kit_spawn(char *const *arguments, int board, int samples, int out, int err, const char *folder) {
    extern char              **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attributes;
    sigset_t                   none, all;
    pid_t                      child = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawn_file_actions_adddup2(&actions, board, KIT_BOARD_DESCRIPTOR);
    posix_spawn_file_actions_adddup2(&actions, samples, KIT_SAMPLES_DESCRIPTOR);
    posix_spawn_file_actions_addclosefrom_np(&actions, 5);
    posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL), sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    /* This process adopts the orphans of its children. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    int failure = posix_spawn(&child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failure != 0) errno = failure;
    return failure == 0 ? child : -1;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

kit_end kit_wait(int child, int milliseconds) {
    kit_end       end    = {.exit_status = -1};
    double        start  = now(), deadline = start + milliseconds / 1000.0;
    int           status = 0;
    struct rusage usage;
    int           process = (int)syscall(SYS_pidfd_open, child, 0);
    memset(&usage, 0, sizeof usage);
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        /* The child stays a zombie (WNOWAIT), so its group number cannot be reused yet. */
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR) break;
        if (info.si_pid == child) break;
        double left = deadline - now();
        if (left <= 0) {
            end.is_late = 1;
            break;
        }
        struct pollfd entry = {.fd = process, .events = POLLIN};
        int           pause = left < 1 ? (int)(left * 1000) + 1 : 1000;
        if (poll(&entry, process >= 0, process >= 0 || pause < 5 ? pause : 5) < 0 && errno == EINTR) {
            end.is_interrupted = 1;
            break;
        }
    }
    if (process >= 0) close(process);
    kill(-child, SIGKILL);
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
    while (waitpid(-child, NULL, 0) > 0) end.strays++;
    if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    end.seconds           = now() - start;
    end.processor_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return end;
}

void kit_end_with_parent(void) {
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent || parent == 1) _exit(0);
}

int kit_forked(uint64_t (*body)(void *), void *context, uint32_t seconds, uint64_t *answer) {
    uint64_t *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        *shared = body(context);
        _exit(0);
    }
    int status = -1;
    if (child > 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    }
    *answer = *shared;
    munmap(shared, sizeof *shared);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
