#define _GNU_SOURCE
#include "violation.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls.h"
#include "worker_exit.h"

/* Written by the main thread before it calls a plugin, read by the handler on any thread. */
static uint64_t context_session;
static uint32_t context_sequence;
static uint32_t context_phase = ISO_LOAD;
static iso_shared *record;

/* Set in the first process of a PID namespace only. */
static volatile int *left_behind;

_Noreturn void worker_exit(int code) { _exit(code); }

_Noreturn void worker_die(int signal_number) {
    if (left_behind) {
        *left_behind = signal_number;
        _exit(EXIT_SIGNAL_BASE + signal_number);
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(signal_number, &usual, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    syscall(__NR_tgkill, getpid(), syscall(__NR_gettid), signal_number);
    _exit(EXIT_SIGNAL_BASE + signal_number);
}

void violation_context(uint64_t session, uint32_t sequence, uint32_t phase) {
    __atomic_store_n(&context_session, session, __ATOMIC_RELAXED);
    __atomic_store_n(&context_sequence, sequence, __ATOMIC_RELAXED);
    __atomic_store_n(&context_phase, phase, __ATOMIC_RELAXED);
}

void violation_record(iso_shared *shared) { record = shared; }

/* Records each call once, while there is room. */
static void note(uint32_t call) {
    const uint32_t room = sizeof record->refused / sizeof record->refused[0];
    uint32_t count = __atomic_load_n(&record->refused_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < room; i++) {
        if (__atomic_load_n(&record->refused[i], __ATOMIC_RELAXED) == call) {
            return;
        }
    }
    uint32_t place = __atomic_fetch_add(&record->refused_count, 1, __ATOMIC_ACQ_REL);
    if (place < room) {
        __atomic_store_n(&record->refused[place], call, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n(&record->refused_count, room, __ATOMIC_RELEASE);
    }
}

static void set_result(void *context, long result) {
    ucontext_t *machine = context;
#if defined(__x86_64__)
    machine->uc_mcontext.gregs[REG_RAX] = result;
#elif defined(__aarch64__)
    machine->uc_mcontext.regs[0] = (unsigned long long)result;
#endif
}

static uint64_t argument(const void *context, int index) {
    const ucontext_t *machine = context;
#if defined(__x86_64__)
    static const int registers[] = {REG_RDI, REG_RSI, REG_RDX};
    return (uint64_t)machine->uc_mcontext.gregs[registers[index]];
#elif defined(__aarch64__)
    return machine->uc_mcontext.regs[index];
#endif
}

/* Runs on the thread that made the call; everything in it is async-signal-safe. */
static void on_refusal(int number, siginfo_t *info, void *context) {
    if (info->si_code != 1 /* SYS_SECCOMP */) {
        worker_die(number);
    }
    int saved = errno;
    if (info->si_errno != 0) {
        if (record) {
            note((uint32_t)info->si_syscall);
        }
        set_result(context, -info->si_errno);
        errno = saved;
        return;
    }
    /* abort(), where the first filter knows only its own process (see filter.c). */
    if (info->si_syscall == __NR_tgkill && argument(context, 0) == (uint64_t)getpid() && argument(context, 2) < NSIG &&
        argument(context, 2) != SIGKILL) {
        _exit(EXIT_SIGNAL_BASE + (int)argument(context, 2));
    }
    iso_violation violation = {.system_call = info->si_syscall,
                               .phase = __atomic_load_n(&context_phase, __ATOMIC_RELAXED)};
    iso_header header = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = ISO_VIOLATION,
                         .session = __atomic_load_n(&context_session, __ATOMIC_RELAXED),
                         .sequence = __atomic_load_n(&context_sequence, __ATOMIC_RELAXED),
                         .length = sizeof violation};
    struct iovec parts[2] = {{&header, sizeof header}, {&violation, sizeof violation}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    sendmsg(ISO_CONTROL_DESCRIPTOR, &message, MSG_NOSIGNAL);
    worker_die(SIGSYS);
}

void violation_watch(void) {
    /* SA_NODEFER: a forbidden call inside the handler must end the process, too. */
    struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSYS, &action, NULL);
}

/* Signals raised by the processor reach such a process anyway, even without stack space for a handler. */
static const int ends[] = {SIGABRT, SIGXCPU, SIGALRM, SIGTERM, SIGXFSZ};

static void on_end(int number) { worker_die(number); }

void violation_end_by_signals(volatile int *number) {
    left_behind = number;
    struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        sigaction(ends[i], &action, NULL);
    }
}

void violation_end_as_usual(void) {
    if (left_behind) {
        /* The page is shared: a worker could leave data there for the next one. */
        munmap((void *)left_behind, sizeof *left_behind);
        left_behind = NULL;
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        if (number != SIGSYS) {
            sigaction(number, &usual, NULL);
        }
    }
}
