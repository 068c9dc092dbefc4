#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <isolation_wire.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calls.h"
#include "confinement.h"
#include "filter_lists.h"

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#else
#error "the filters are written for x86-64 and aarch64"
#endif

#ifndef PR_SET_VMA /* Linux 5.17 */
#define PR_SET_VMA 0x53564d41
#endif

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40 /* include/uapi/linux/prctl.h */
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define X32_BIT 0x40000000U /* asm/unistd.h, __X32_SYSCALL_BIT */

#define ALLOW SECCOMP_RET_ALLOW
#define TRAP SECCOMP_RET_TRAP
#define KILL SECCOMP_RET_KILL_PROCESS
#define ASK SECCOMP_RET_USER_NOTIF
#define REFUSE(number) (SECCOMP_RET_ERRNO | (uint32_t)(number))

/* ---- writing a program ---- */

#define PROGRAM_ROOM 700
static struct sock_filter program[PROGRAM_ROOM];
static unsigned short length;

static void put(uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false) {
    if (length < PROGRAM_ROOM) {
        program[length] = (struct sock_filter){code, if_true, if_false, k};
    }
    length++;
}

static void answer(uint32_t action) { put(BPF_RET | BPF_K, action, 0, 0); }
static void load(size_t offset) { put(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

/* Returns `action` if the loaded word equals (or has a bit of) the operand; otherwise continues. */
static void when_equal(uint32_t operand, uint32_t action) {
    put(BPF_JMP | BPF_JEQ | BPF_K, operand, 0, 1);
    answer(action);
}
static void when_bits(uint32_t operand, uint32_t action) {
    put(BPF_JMP | BPF_JSET | BPF_K, operand, 0, 1);
    answer(action);
}

/* An argument's low and high word; both architectures are little-endian. */
static void load_argument(int index) { load(offsetof(struct seccomp_data, args) + (size_t)index * 8); }
static void load_argument_high(int index) { load(offsetof(struct seccomp_data, args) + (size_t)index * 8 + 4); }

static void begin(void) {
    length = 0;
    load(offsetof(struct seccomp_data, arch));
    put(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
    answer(KILL);
    load(offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    put(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    answer(KILL);
#endif
}

static void on_call(int call, uint32_t action) {
    if (call >= 0) {
        when_equal((uint32_t)call, action);
    }
}

/* The tests between open_call and close_call are for one call, and must end with a return. */
static unsigned short open_call(int call) {
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
    return length;
}
static void close_call(unsigned short start) {
    if (length <= PROGRAM_ROOM) {
        program[start - 1].jf = (uint8_t)(length - start);
    }
}

/* For a call decided by some bits, or by the whole, of one argument. */
static void on_call_with_bits(int call, int argument, uint32_t bits, uint32_t with, uint32_t without) {
    unsigned short start = open_call(call);
    load_argument(argument);
    when_bits(bits, with);
    answer(without);
    close_call(start);
}
static void on_call_with_value(int call, int argument, uint32_t value, uint32_t with, uint32_t without) {
    unsigned short start = open_call(call);
    load_argument(argument);
    when_equal(value, with);
    answer(without);
    close_call(start);
}

/*
 * For mmap: denies memory that RLIMIT_DATA does not count. Shared anonymous memory would also outlive an image,
 * because all workers of a plugin that maps it during loading share it.
 */
static void refuse_uncounted_memory(uint32_t action) {
    load_argument(3);
    when_bits(MAP_GROWSDOWN, action);
    put(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 2);
    when_bits(MAP_SHARED, action);
}

/* Installs the filter. Returns 0, or the descriptor that the flags request, or -errno. */
static int install(unsigned flags) {
    if (length > PROGRAM_ROOM) {
        return -E2BIG;
    }
    struct sock_fprog filter = {length, program};
    long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    return result < 0 ? -errno : (int)result;
}

/* ---- the two filters ---- */

static void on_questions(void) {
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        on_call_with_value(questions[i].call, questions[i].number, 0, ALLOW, REFUSE(ENOSYS));
    }
}

/* Files may only be opened for reading: writing and creating are denied without asking the guardian. */
static void on_open(int call, int flags_argument, uint32_t action) {
    if (call >= 0) {
        on_call_with_bits(call, flags_argument, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, REFUSE(EACCES), action);
    }
}

/*
 * Descriptors 0 to 2 always stay on /dev/null: a constructor that replaced one could pass data to later images through
 * it. Only the worker's own step is permitted, which replaces the zygote's socket by that of a session.
 */
static void on_descriptors(void) {
    const int duplicating[] = {__NR_dup2, __NR_dup3};
    for (size_t i = 0; i < sizeof duplicating / sizeof duplicating[0]; i++) {
        if (duplicating[i] >= 0) {
            on_call_with_value(duplicating[i], 1, ISO_CONTROL_DESCRIPTOR, ALLOW, TRAP);
        }
    }
    const int closing[] = {__NR_close, __NR_close_range};
    for (size_t i = 0; i < sizeof closing / sizeof closing[0]; i++) {
        unsigned short start = open_call(closing[i]);
        load_argument(0);
        put(BPF_JMP | BPF_JGE | BPF_K, ISO_CONTROL_DESCRIPTOR, 1, 0);
        answer(REFUSE(EBADF));
        answer(ALLOW);
        close_call(start);
    }
}

static void on_limits(int asked) {
    unsigned short start = open_call(__NR_prlimit64);
    load_argument(0);
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(REFUSE(EPERM));
    if (asked) {
        /* A worker limits its own processor time; the guardian sets the memory limit. */
        load_argument(1);
        when_equal(RLIMIT_CPU, ALLOW);
        load_argument(2);
        put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
        answer(REFUSE(EPERM));
        load_argument_high(2);
        when_equal(0, ALLOW);
        answer(REFUSE(EPERM));
    }
    answer(ALLOW);
    close_call(start);
    on_call_with_value(__NR_setrlimit, 0, RLIMIT_CPU, ALLOW, asked ? REFUSE(EPERM) : ALLOW);
}

/*
 * Sends the calls of `loading`, new code, forks and threads to the guardian if it can be asked; otherwise permits them
 * until the second filter. A call on no list ends the process.
 */
static void write_loading(int can_ask, int may_start_threads) {
    const uint32_t later = can_ask ? ASK : ALLOW;
    begin();
    on_descriptors();
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        on_call(always[i], ALLOW);
    }
    on_questions();
    for (size_t i = 0; i < sizeof forking / sizeof forking[0]; i++) {
        on_call(forking[i], ALLOW);
    }
    on_open(__NR_open, 1, later);
    on_open(__NR_openat, 2, later);
    for (size_t i = 0; i < sizeof loading / sizeof loading[0]; i++) {
        on_call(loading[i], later);
    }
    unsigned short start = open_call(__NR_mmap);
    refuse_uncounted_memory(REFUSE(ENOMEM));
    load_argument(2);
    when_bits(PROT_EXEC, later);
    answer(ALLOW);
    close_call(start);
    on_call_with_bits(__NR_mprotect, 2, PROT_EXEC, later, ALLOW);
    /* A filter cannot read clone3's flags, which are in memory; libraries fall back to clone. */
    on_call(__NR_clone3, REFUSE(ENOSYS));
    start = open_call(__NR_clone);
    load_argument(0);
    when_equal(FORK_FLAGS, later);
    when_bits(CLONE_THREAD, may_start_threads ? later : TRAP);
    answer(TRAP);
    close_call(start);
    /* Permits only the second filter. */
    start = open_call(__NR_seccomp);
    load_argument(1);
    when_equal(SECCOMP_FILTER_FLAG_TSYNC, ALLOW);
    answer(TRAP);
    close_call(start);
    on_call_with_value(__NR_kill, 0, (uint32_t)getpid(), ALLOW, TRAP);
    /*
     * abort() of a child sends one signal to itself, and children have other process numbers. If no namespace keeps
     * other processes out of reach, the handler ends the child as the signal would have.
     */
    int alone = confinement.state[ISO_PID_NAMESPACE] == ISO_IN_FORCE ||
                confinement.state[ISO_LANDLOCK_SCOPE] == ISO_IN_FORCE;
    on_call_with_value(__NR_tgkill, 0, (uint32_t)getpid(), ALLOW, alone ? ALLOW : TRAP);
    start = open_call(__NR_prctl);
    load_argument(0);
    /* Permits only PR_SET_PDEATHSIG, which ends a child with its parent. */
    put(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 4);
    load_argument(1);
    put(BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 1, 0);
    answer(TRAP);
    answer(ALLOW);
    when_equal(PR_SET_NAME, ALLOW);
    when_equal(PR_GET_NAME, ALLOW);
    when_equal(PR_SET_VMA, ALLOW);
    when_equal(PR_GET_TID_ADDRESS, ALLOW);
    answer(TRAP);
    close_call(start);
    on_limits(can_ask);
    for (size_t i = 0; i < sizeof quietly / sizeof quietly[0]; i++) {
        on_call(quietly[i].call, REFUSE(quietly[i].error));
    }
    answer(TRAP);
}

int filter_loading(int can_ask, int may_start_threads, int has_pool) {
    int error = can_ask ? 0 : EOPNOTSUPP;
    if (can_ask) {
        /* The guardian permits pool threads only in workers; without a guardian there is no pool. */
        write_loading(1, may_start_threads || has_pool);
        const unsigned flags[] = {SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0};
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
            int listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER | flags[i]);
            if (listener >= 0) {
                confinement.state[ISO_SECCOMP_LOAD] = ISO_IN_FORCE;
                return listener;
            }
            error = -listener;
        }
    }
    write_loading(0, may_start_threads);
    confinement.state[ISO_SECCOMP_LOAD] = -install(0);
    confinement.state[ISO_SECCOMP_SEAL] = error;
    return -error;
}

int filter_quiet_error(int call) {
    for (size_t i = 0; i < sizeof quietly / sizeof quietly[0]; i++) {
        if (quietly[i].call == call) {
            return quietly[i].error;
        }
    }
    return 0;
}

void filter_seal(int may_start_threads, int record) {
    begin();
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        on_call(always[i], ALLOW);
    }
    on_questions();
    /* Denies code that was not present when the plugin was loaded. */
    uint32_t quiet = record ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO;
    unsigned short start = open_call(__NR_mmap);
    load_argument(2);
    when_bits(PROT_EXEC, TRAP);
    refuse_uncounted_memory(quiet | ENOMEM);
    answer(ALLOW);
    close_call(start);
    on_call_with_bits(__NR_mprotect, 2, PROT_EXEC, TRAP, ALLOW);
    on_call(__NR_clone3, REFUSE(ENOSYS));
    /*
     * The C library blocks every signal while it starts a thread, so this trap ends the process without a report:
     * the host only sees that the signal ended it.
     */
    on_call_with_bits(__NR_clone, 0, CLONE_THREAD, may_start_threads ? ALLOW : TRAP, TRAP);
    /* A process that kills itself by SIGKILL would look as if the kernel or a user had killed it. */
    start = open_call(__NR_tgkill);
    load_argument(0);
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 1, 0);
    answer(TRAP);
    load_argument(2);
    when_equal(SIGKILL, TRAP);
    answer(ALLOW);
    close_call(start);
    on_call_with_bits(__NR_newfstatat, 3, AT_EMPTY_PATH, ALLOW, quiet | EACCES);
    on_call_with_bits(__NR_statx, 2, AT_EMPTY_PATH, ALLOW, quiet | EACCES);
    start = open_call(__NR_prlimit64);
    load_argument(2);
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(TRAP);
    load_argument_high(2);
    when_equal(0, ALLOW);
    answer(TRAP);
    close_call(start);
    start = open_call(__NR_prctl);
    load_argument(0);
    when_equal(PR_SET_NAME, ALLOW);
    when_equal(PR_GET_NAME, ALLOW);
    when_equal(PR_SET_VMA, ALLOW);
    answer(TRAP);
    close_call(start);
    for (size_t i = 0; i < sizeof quietly / sizeof quietly[0]; i++) {
        on_call(quietly[i].call, quiet | (uint32_t)quietly[i].error);
    }
    answer(TRAP);
    int result = install(SECCOMP_FILTER_FLAG_TSYNC);
    /* Above zero: the number of a thread that could not be synchronized. */
    int failure = result > 0 ? EBUSY : -result;
    /* A seal that only the process itself holds does not stop a plugin with malicious constructors. */
    if (failure || confinement.state[ISO_SECCOMP_SEAL] == ISO_NOT_YET) {
        confinement.state[ISO_SECCOMP_SEAL] = failure;
    }
}
