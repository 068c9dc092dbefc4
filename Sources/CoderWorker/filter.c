#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
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

/* Answers `action` when the loaded word equals (or has a bit of) the operand; goes on otherwise. */
static void when_equal(uint32_t operand, uint32_t action) {
    put(BPF_JMP | BPF_JEQ | BPF_K, operand, 0, 1);
    answer(action);
}
static void when_bits(uint32_t operand, uint32_t action) {
    put(BPF_JMP | BPF_JSET | BPF_K, operand, 0, 1);
    answer(action);
}

/* An argument's low and high word; both machines are little-endian. */
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

/* The tests between these two are for one call, and the last thing in them is an answer. */
static unsigned short open_call(int call) {
    put(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
    return length;
}
static void close_call(unsigned short start) {
    if (length <= PROGRAM_ROOM) {
        program[start - 1].jf = (uint8_t)(length - start);
    }
}

/* For a call that is known by the bits, or by the whole, of one argument. */
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
 * For a call of mmap: memory that RLIMIT_DATA does not count. That which is shared and anonymous would also outlive a
 * picture, as all workers of a plugin that maps it while it is loaded have it in common.
 */
static void refuse_uncounted_memory(uint32_t action) {
    load_argument(3);
    when_bits(MAP_GROWSDOWN, action);
    put(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 2);
    when_bits(MAP_SHARED, action);
}

/* What the system answers: 0, or what the flags ask for; -errno. */
static int install(unsigned flags) {
    if (length > PROGRAM_ROOM) {
        return -E2BIG;
    }
    struct sock_fprog filter = {length, program};
    long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
    return result < 0 ? -errno : (int)result;
}

/* ---- sealed: nothing but ... ---- */

static const int always[] = {
    __NR_futex, __NR_read, __NR_write, __NR_sendmsg, __NR_recvmsg, __NR_pread64, __NR_munmap, __NR_mremap, __NR_madvise,
    __NR_brk, __NR_sched_yield, __NR_clock_gettime, __NR_clock_getres, __NR_nanosleep, __NR_clock_nanosleep,
    __NR_gettimeofday, __NR_time, __NR_times, __NR_getrusage, __NR_getrandom, __NR_rt_sigaction, __NR_rt_sigprocmask,
    __NR_rt_sigreturn, __NR_rt_sigpending, __NR_rt_sigsuspend, __NR_rt_sigtimedwait, __NR_sigaltstack, __NR_rseq,
    __NR_set_robust_list, __NR_get_robust_list, __NR_membarrier, __NR_exit, __NR_exit_group, __NR_getpid, __NR_gettid,
    __NR_getppid, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_sched_getaffinity,
    __NR_sched_getscheduler, __NR_sched_getparam, __NR_sched_get_priority_max, __NR_sched_get_priority_min,
    __NR_getpriority, __NR_getcpu, __NR_getrlimit, __NR_uname, __NR_sysinfo, __NR_poll, __NR_ppoll,
    __NR_restart_syscall, __NR_close, __NR_fstat, __NR_lseek, __NR_writev, __NR_readv, __NR_preadv, __NR_mincore,
    __NR_futex_waitv, __NR_futex_wake, __NR_futex_wait, __NR_futex_requeue,
};

/* What libraries try and get along without. */
static const struct {
    int call;
    int error;
} quietly[] = {
    {__NR_open, EACCES},       {__NR_openat, EACCES},     {__NR_openat2, EACCES},     {__NR_creat, EACCES},
    {__NR_stat, EACCES},       {__NR_lstat, EACCES},      {__NR_access, EACCES},      {__NR_faccessat, EACCES},
    {__NR_faccessat2, EACCES}, {__NR_readlink, EACCES},   {__NR_readlinkat, EACCES},  {__NR_statfs, EACCES},
    {__NR_fstatfs, EACCES},    {__NR_getcwd, EACCES},     {__NR_getdents, EACCES},    {__NR_getdents64, EACCES},
    {__NR_ioctl, ENOTTY},      {__NR_fcntl, EINVAL},      {__NR_fadvise64, ENOSYS},   {__NR_mbind, ENOSYS},
    {__NR_set_mempolicy, ENOSYS}, {__NR_get_mempolicy, ENOSYS}, {__NR_set_mempolicy_home_node, ENOSYS},
    {__NR_sched_setaffinity, EPERM}, {__NR_sched_setscheduler, EPERM}, {__NR_sched_setparam, EPERM},
    {__NR_setpriority, EPERM}, {__NR_mlock, EPERM},       {__NR_munlock, EPERM},      {__NR_mlockall, EPERM},
};

/* ---- loading: everything but ... ---- */

static const int never[] = {
    /* other machines */
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4,
    /* other programs and processes */
    __NR_execve, __NR_execveat, __NR_uselib, __NR_fork, __NR_vfork, __NR_ptrace, __NR_process_vm_readv,
    __NR_process_vm_writev, __NR_process_madvise, __NR_process_mrelease, __NR_kcmp, __NR_pidfd_open, __NR_pidfd_getfd,
    __NR_pidfd_send_signal, __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_migrate_pages,
    __NR_move_pages,
    /* the shape of the system */
    __NR_mount, __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_setns, __NR_unshare, __NR_open_tree, __NR_move_mount,
    __NR_fsopen, __NR_fsconfig, __NR_fsmount, __NR_fspick, __NR_mount_setattr, __NR_open_tree_attr, __NR_statmount,
    __NR_listmount, __NR_mknod, __NR_mknodat, __NR_name_to_handle_at, __NR_open_by_handle_at, __NR_fanotify_init,
    __NR_quotactl, __NR_quotactl_fd, __NR_acct, __NR_swapon, __NR_swapoff, __NR_reboot, __NR_kexec_load,
    __NR_kexec_file_load, __NR_init_module, __NR_finit_module, __NR_delete_module, __NR_settimeofday,
    __NR_clock_settime, __NR_adjtimex, __NR_clock_adjtime, __NR_sethostname, __NR_setdomainname, __NR_syslog,
    __NR_vhangup, __NR_personality, __NR_iopl, __NR_ioperm, __NR_modify_ldt,
    /* parts of the kernel with a history */
    __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register,
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_vmsplice, __NR_lookup_dcookie,
    /* what outlives the process */
    __NR_shmget, __NR_semget, __NR_msgget, __NR_mq_open,
};

/* What else the process that workers are forked from does. */
static const int forking[] = {
    __NR_wait4, __NR_dup2, __NR_dup3, __NR_close_range, __NR_seccomp,
    /* The loader asks for many that are not there, and the way through the guardian is long. They open nothing. */
    __NR_newfstatat, __NR_statx, __NR_alarm,
};

static void on_limits(int asked) {
    unsigned short start = open_call(__NR_prlimit64);
    load_argument(0);
    put(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(REFUSE(EPERM));
    if (asked) {
        /* A worker's processor time is limited by itself; the limit of memory is in the guardian's hand. */
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
    if (asked) {
        on_call_with_value(__NR_setrlimit, 0, RLIMIT_CPU, ALLOW, REFUSE(EPERM));
    }
}

/* Answers ASK, where somebody is `asked`, to whatever a sealed process has no need of. */
static void write_loading(int asked) {
    const uint32_t later = asked ? ASK : ALLOW;
    begin();
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        on_call(never[i], TRAP);
    }
    /* A filter sees no memory, so the new call's flags are out of its sight; libraries fall back on the old one. */
    on_call(__NR_clone3, REFUSE(ENOSYS));
    unsigned short start = open_call(__NR_mmap);
    refuse_uncounted_memory(REFUSE(ENOMEM));
    load_argument(2);
    when_bits(PROT_EXEC, later);
    answer(ALLOW);
    close_call(start);
    on_call_with_bits(__NR_mprotect, 2, PROT_EXEC, later, ALLOW);
    start = open_call(__NR_clone);
    load_argument(0);
    when_equal(FORK_FLAGS, ALLOW);
    when_bits(CLONE_THREAD, ALLOW);
    answer(TRAP);
    close_call(start);
    on_call_with_value(__NR_kill, 0, (uint32_t)getpid(), ALLOW, TRAP);
    /*
     * abort() of a child is one signal to itself, and children have numbers of their own. Where no namespace keeps
     * other processes out of reach, it is the handler that ends the child as the signal would have.
     */
    int alone = confinement.state[ISO_PID_NAMESPACE] == ISO_IN_FORCE ||
                confinement.state[ISO_LANDLOCK_SCOPE] == ISO_IN_FORCE;
    on_call_with_value(__NR_tgkill, 0, (uint32_t)getpid(), ALLOW, alone ? ALLOW : TRAP);
    /* What a terminal reads is typed by somebody else. */
    on_call_with_value(__NR_ioctl, 1, TIOCSTI, TRAP, later);
    start = open_call(__NR_prctl);
    load_argument(0);
    when_equal(PR_SET_PTRACER, TRAP);
    when_equal(PR_SET_MM, TRAP);
    /* The signal by which a child follows its parent, and no other. */
    put(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 4);
    load_argument(1);
    put(BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 1, 0);
    answer(TRAP);
    answer(ALLOW);
    when_equal(PR_SET_NAME, ALLOW);
    when_equal(PR_GET_NAME, ALLOW);
    when_equal(PR_SET_VMA, ALLOW);
    when_equal(PR_GET_TID_ADDRESS, ALLOW);
    answer(later);
    close_call(start);
    on_limits(asked);
    if (asked) {
        for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
            on_call(always[i], ALLOW);
        }
        for (size_t i = 0; i < sizeof forking / sizeof forking[0]; i++) {
            on_call(forking[i], ALLOW);
        }
    }
    answer(later);
}

int filter_loading(int can_ask) {
    int error = can_ask ? 0 : EOPNOTSUPP;
    if (can_ask) {
        write_loading(1);
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
    write_loading(0);
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
    /* No code that was not there when the plugin was loaded. */
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
     * The C library blocks every signal while it starts a thread, so this trap ends the process without a report: what
     * the host sees is its end by the signal.
     */
    on_call_with_bits(__NR_clone, 0, CLONE_THREAD, may_start_threads ? ALLOW : TRAP, TRAP);
    /* Who ends itself by SIGKILL would look like somebody whom the system, or a person, has ended. */
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
    /* Above zero: the number of a thread that could not be taken along. */
    int failure = result > 0 ? EBUSY : -result;
    /* One that only its own process holds is none against a plugin that was malicious when it was loaded. */
    if (failure || confinement.state[ISO_SECCOMP_SEAL] == ISO_NOT_YET) {
        confinement.state[ISO_SECCOMP_SEAL] = failure;
    }
}
