#define _GNU_SOURCE
#include "guardian.h"

#include <errno.h>
#include <isolation_wire.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "confinement.h"
#include "descendants.h"
#include "descriptors.h"
#include "filter.h"
#include "listener.h"
#include "violation.h"
#include "worker_exit.h"

int guardian_pipe = -1;
int guardian_holds;

/* The time a child has to end by itself after the host has ended. */
#define GRACE_NANOSECONDS INT64_C(200000000)

static int handover = -1;
static volatile sig_atomic_t is_told_to_end;

static void on_child(int number) { (void)number; }
static void on_end(int number) { is_told_to_end = number; }

/* ---- the end ---- */

/*
 * A plugin can write this number, too. A signal that stops a process, or does nothing, would leave the guardian
 * running after the host's end. Only the signals that worker_die is called with count.
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
    descendants_end();
    if (WIFSIGNALED(status) || is_an_end(left_behind)) {
        worker_die(WIFSIGNALED(status) ? WTERMSIG(status) : left_behind);
    }
    worker_exit(WEXITSTATUS(status));
}

static int end_child(pid_t child) {
    int status = 0;
    kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* ---- the seal ---- */

/* The zygote's message before any plugin code runs. */
typedef struct handover_message {
    int      error; /* the reason for a missing listener; 0 = the message carries it */
    uint32_t threads;
    uint32_t pool;
} handover_message;

static int listener = -1;
static int listener_error = EPROTO; /* no handover yet */
static int is_sealed;
static uint32_t thread_limit;
/* The number of host threads, which only workers have. */
static uint32_t pool_limit;
/* The number of forks that the host permitted and the zygote has not made yet. */
static uint32_t permitted_forks;

static void take_over(void) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    handover_message body;
    struct iovec part = {&body, sizeof body};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(handover, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == (ssize_t)sizeof body) {
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        if (item && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
            memcpy(&listener, CMSG_DATA(item), sizeof listener);
        }
        listener_error = listener < 0 ? body.error : listener_begin(listener);
        thread_limit = body.threads;
        pool_limit = body.pool;
        send(handover, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    close(handover);
    handover = -1;
}

static void say(uint16_t type, uint32_t sequence, void *body, size_t length) {
    iso_header header = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = type, .sequence = sequence,
                         .length = (uint32_t)length};
    struct iovec parts[2] = {{&header, sizeof header}, {body, length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    sendmsg(ISO_GUARDIAN_DESCRIPTOR, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Only the soft limit, so that it can be changed; the first filter keeps the plugin from raising it. */
static int limit_memory(pid_t child, int resource, uint64_t bytes) {
    struct rlimit limit;
    if (prlimit(child, resource, NULL, &limit) != 0) {
        return errno;
    }
    limit.rlim_cur = bytes > 0 && bytes < limit.rlim_max ? bytes : limit.rlim_max;
    return prlimit(child, resource, &limit, NULL) == 0 ? 0 : errno;
}

static void seal(pid_t child, uint32_t sequence, const iso_seal *order) {
    iso_sealed sealed = {.seal = listener_error, .zygote = child};
    if (listener_error == 0) {
        is_sealed = 1;
        if (order->limits) {
            sealed.limits = limit_memory(child, RLIMIT_DATA, order->data_bytes);
            int failure = limit_memory(child, RLIMIT_AS, order->address_bytes);
            sealed.limits = sealed.limits ? sealed.limits : failure;
        }
    }
    say(ISO_SEALED, sequence, &sealed, sizeof sealed);
}

/* Carries out a pending order. 0: no more orders can arrive. */
static int obey(pid_t child) {
    struct {
        iso_header header;
        iso_seal seal;
    } order;
    ssize_t count = recv(ISO_GUARDIAN_DESCRIPTOR, &order, sizeof order, MSG_DONTWAIT);
    if (count <= 0) {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (count < (ssize_t)sizeof order.header || order.header.magic != ISO_MAGIC ||
        order.header.version != ISO_VERSION || order.header.length != (size_t)count - sizeof order.header) {
        return 0;
    }
    if (order.header.type == ISO_PERMIT && order.header.length == 0) {
        permitted_forks++;
        return 1;
    }
    if (order.header.type == ISO_SEAL && order.header.length == sizeof order.seal) {
        seal(child, order.header.sequence, &order.seal);
        return 1;
    }
    return 0;
}

/* How often a thread count above the limit is repeated, half a millisecond apart: an ending thread counts until the
   kernel has removed it. */
#define RECOUNTS 8

/* Whether the process of a thread may start another thread. The zygote itself has no pool. */
static int may_start_thread(pid_t thread, pid_t zygote) {
    uint32_t limit = thread_limit + (thread == zygote ? 0 : pool_limit);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)thread);
    for (int i = 0; i < RECOUNTS; i++) {
        struct stat status;
        /* /proc/PID/task has a link for each thread plus two. If /proc is hidden, only RLIMIT_NPROC limits threads. */
        if (stat(path, &status) != 0 || status.st_nlink < 3 || status.st_nlink - 2 <= limit) {
            return 1;
        }
        struct timespec moment = {0, 500000};
        nanosleep(&moment, NULL);
    }
    return 0;
}

enum { LET_THROUGH = 0, VIOLATION = -1 };

/* LET_THROUGH, VIOLATION, or an errno. Pointers are not followed, because the memory behind them may change. */
static int judge(const listener_call *call, pid_t child, int takes_orders) {
    if (call->number == __NR_clone && call->first != FORK_FLAGS) {
        if (may_start_thread(call->thread, child)) {
            return LET_THROUGH;
        }
        return thread_limit == 0 ? VIOLATION : EAGAIN;
    }
    if (call->number == __NR_clone) {
        /* The host sends the permit before the fork request, but poll may have checked its socket earlier. */
        if (permitted_forks == 0 && takes_orders) {
            obey(child);
        }
        if (permitted_forks == 0) {
            return VIOLATION;
        }
        permitted_forks--;
        return LET_THROUGH;
    }
    if (!is_sealed) {
        return LET_THROUGH;
    }
    int quiet = filter_quiet_error(call->number);
    return quiet ? quiet : VIOLATION;
}

static _Noreturn void report(pid_t child, int call) {
    end_child(child);
    descendants_end();
    iso_violation violation = {.system_call = call};
    say(ISO_VIOLATION, 0, &violation, sizeof violation);
    worker_die(SIGSYS);
}

/* ---- the loop ---- */

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Reaps the child and its orphaned children. */
static int has_ended(pid_t child, int *status) {
    pid_t ended;
    while ((ended = waitpid(-1, status, WNOHANG)) > 0) {
        if (ended == child) {
            return 1;
        }
    }
    return 0;
}

static _Noreturn void guard(pid_t child, volatile int *left_behind, const sigset_t *open_mask, int takes_orders) {
    int64_t end = 0; /* set after the host has ended */
    for (;;) {
        int status;
        if (has_ended(child, &status)) {
            end_like(status, *left_behind);
        }
        if (is_told_to_end) {
            end_child(child);
            descendants_end();
            worker_die(SIGKILL);
        }
        int64_t left = end ? end - now() : 0;
        if (end && left <= 0) {
            end_like(end_child(child), 0);
        }
        /* A child inside plugin code may not notice the host's end; its calls are then no longer answered. */
        enum { HOST, ORDERS, HANDOVER, LISTENER, ALL };
        struct pollfd at[ALL] = {{.fd = end ? -1 : ISO_CONTROL_DESCRIPTOR},
                                 {.fd = takes_orders ? ISO_GUARDIAN_DESCRIPTOR : -1, .events = POLLIN},
                                 {.fd = handover, .events = POLLIN},
                                 {.fd = end ? -1 : listener, .events = POLLIN}};
        struct timespec grace = {0, (long)left};
        if (ppoll(at, ALL, end ? &grace : NULL, open_mask) <= 0) {
            continue;
        }
        if (at[HOST].revents) {
            end = now() + GRACE_NANOSECONDS;
        }
        if (at[HANDOVER].revents) {
            take_over();
        }
        if (at[ORDERS].revents) {
            takes_orders = obey(child);
        }
        if (at[LISTENER].revents & POLLIN) {
            const listener_call *call = listener_receive(listener);
            int verdict = call ? judge(call, child, takes_orders) : LET_THROUGH;
            if (verdict == VIOLATION) {
                report(child, call->number);
            }
            if (call) {
                listener_answer(listener, verdict);
            }
        } else if (at[LISTENER].revents) {
            /* No process is left that could ask. */
            close(listener);
            listener = -1;
        }
    }
}

void guardian_fork(void) {
    int ends[2];
    int handing[2];
    const int takes_orders = is_packet_socket(ISO_GUARDIAN_DESCRIPTOR);
    volatile int *left_behind =
        mmap(NULL, sizeof *left_behind, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (left_behind == MAP_FAILED || pipe(ends) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, handing) != 0) {
        worker_exit(EXIT_RESOURCES);
    }
    sigset_t awaited;
    sigset_t before;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, &before);
    struct sigaction action = {.sa_handler = on_child};
    sigaction(SIGCHLD, &action, NULL);
    action.sa_handler = on_end;
    sigaction(SIGTERM, &action, NULL);
    /* This process adopts orphaned processes that a plugin forked. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t child = fork();
    if (child < 0) {
        worker_exit(EXIT_RESOURCES);
    }
    if (child > 0) {
        close(ends[0]);
        close(handing[1]);
        handover = handing[0];
        confine_capabilities();
        guard(child, left_behind, &before, takes_orders);
    }
    close(ends[1]);
    close(handing[0]);
    if (takes_orders) {
        close(ISO_GUARDIAN_DESCRIPTOR);
    }
    handover = handing[1];
    guardian_pipe = ends[0];
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &usual, NULL);
    sigaction(SIGTERM, &usual, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* The guardian may have ended before. */
    struct pollfd guardian = {.fd = guardian_pipe, .events = POLLIN};
    if (poll(&guardian, 1, 0) > 0) {
        worker_exit(EXIT_GONE);
    }
    if (getpid() == 1) {
        violation_end_by_signals(left_behind);
    }
}

void guardian_hand_over(int descriptor, uint32_t threads, uint32_t pool) {
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    handover_message body = {descriptor < 0 ? -descriptor : 0, threads, pool};
    struct iovec part = {&body, sizeof body};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(item), &descriptor, sizeof descriptor);
    }
    ssize_t count;
    char taken;
    while ((count = sendmsg(handover, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    /* A closed pipe means that the guardian has ended. Only calls that the filter permits itself are used here. */
    while (count >= 0 && (count = read(handover, &taken, 1)) < 0 && errno == EINTR) {
    }
    if (count <= 0) {
        worker_exit(EXIT_GONE);
    }
    close(handover);
    handover = -1;
    guardian_holds = descriptor >= 0;
}
