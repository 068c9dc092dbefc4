#define _GNU_SOURCE
#include "guardian.h"

#include <errno.h>
#include <isolation_wire.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confinement.h"
#include "violation.h"
#include "worker_exit.h"

int guardian_pipe = -1;

/* How long a child may take to end by itself when the host is gone. */
#define GRACE_NANOSECONDS 200000000L

static void on_child(int number) { (void)number; }

/*
 * A plugin can reach that number, too. One that stops, or that does nothing, would leave this process behind when the
 * host is gone; it is one of those that worker_die is called with, or none.
 */
static int is_an_end(int number) {
    static const int ends[] = {SIGABRT, SIGXCPU, SIGALRM, SIGTERM, SIGXFSZ, SIGSYS, SIGSEGV};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends[i] == number) {
            return 1;
        }
    }
    return 0;
}

static _Noreturn void end_like(int status, int left_behind) {
    if (WIFSIGNALED(status) || is_an_end(left_behind)) {
        worker_die(WIFSIGNALED(status) ? WTERMSIG(status) : left_behind);
    }
    worker_exit(WEXITSTATUS(status));
}

static _Noreturn void guard(pid_t child, volatile int *left_behind, const sigset_t *open_mask) {
    struct pollfd host = {.fd = ISO_CONTROL_DESCRIPTOR, .events = 0};
    struct timespec grace = {0, GRACE_NANOSECONDS};
    int gone = 0;
    for (;;) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) {
            end_like(status, *left_behind);
        }
        /* A child may be inside a plugin and not see that the host is gone. */
        int ready = ppoll(&host, gone ? 0 : 1, gone ? &grace : NULL, open_mask);
        if (gone && ready == 0) {
            kill(child, SIGKILL);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
            end_like(status, 0);
        }
        gone = gone || ready > 0;
    }
}

void guardian_fork(void) {
    int ends[2];
    volatile int *left_behind =
        mmap(NULL, sizeof *left_behind, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (left_behind == MAP_FAILED || pipe(ends) != 0) {
        worker_exit(EXIT_RESOURCES);
    }
    sigset_t children;
    sigset_t before;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &before);
    struct sigaction action = {.sa_handler = on_child};
    sigaction(SIGCHLD, &action, NULL);
    pid_t child = fork();
    if (child < 0) {
        worker_exit(EXIT_RESOURCES);
    }
    if (child > 0) {
        close(ends[0]);
        confine_capabilities();
        guard(child, left_behind, &before);
    }
    close(ends[1]);
    guardian_pipe = ends[0];
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &usual, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* It may have died before that. */
    struct pollfd guardian = {.fd = guardian_pipe, .events = POLLIN};
    if (poll(&guardian, 1, 0) > 0) {
        worker_exit(EXIT_GONE);
    }
    if (getpid() == 1) {
        violation_end_by_signals(left_behind);
    }
}
