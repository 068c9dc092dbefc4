#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

typedef struct refused_call {
    int         number, kind;
    const char *name;
} refused_call;

#define PROCESS(name) {__NR_##name, KIT_KIND_PROCESS, #name},
#define NETWORK(name) {__NR_##name, KIT_KIND_NETWORK, #name},
#define FILES(name)   {__NR_##name, KIT_KIND_FILE, #name},
#define SYSTEM(name)  {__NR_##name, KIT_KIND_SYSTEM, #name},

/* Denied with any arguments. */
static const refused_call always[] = {
    PROCESS(execve) PROCESS(execveat) PROCESS(ptrace) PROCESS(process_vm_readv) PROCESS(process_vm_writev)
    PROCESS(tkill) PROCESS(rt_sigqueueinfo) PROCESS(rt_tgsigqueueinfo) PROCESS(setns) PROCESS(unshare) PROCESS(setsid)
    PROCESS(setpgid)
    NETWORK(socket) NETWORK(socketpair) NETWORK(connect) NETWORK(bind) NETWORK(listen)
    FILES(unlinkat) FILES(renameat2) FILES(linkat) FILES(symlinkat) FILES(mknodat) FILES(mkdirat) FILES(truncate)
    FILES(fchmodat) FILES(fchownat) FILES(fchmod) FILES(fchown) FILES(utimensat) FILES(setxattr) FILES(lsetxattr)
    FILES(removexattr)
    SYSTEM(mount) SYSTEM(umount2) SYSTEM(pivot_root) SYSTEM(chroot) SYSTEM(reboot) SYSTEM(kexec_load)
    SYSTEM(init_module) SYSTEM(finit_module) SYSTEM(delete_module) SYSTEM(swapon) SYSTEM(swapoff) SYSTEM(bpf)
    SYSTEM(perf_event_open) SYSTEM(keyctl) SYSTEM(add_key) SYSTEM(request_key) SYSTEM(settimeofday)
    SYSTEM(clock_settime) SYSTEM(sethostname) SYSTEM(setdomainname) SYSTEM(userfaultfd) SYSTEM(io_uring_setup)
    SYSTEM(acct) SYSTEM(quotactl) SYSTEM(syslog) SYSTEM(personality)
#ifdef __NR_fork
    PROCESS(fork) PROCESS(vfork)
    FILES(unlink) FILES(rename) FILES(link) FILES(symlink) FILES(mknod) FILES(mkdir) FILES(rmdir) FILES(chmod)
    FILES(chown) FILES(lchown) FILES(creat) FILES(utime) FILES(utimes)
#endif
#ifdef __NR_renameat
    FILES(renameat)
#endif
#ifdef __NR_pidfd_send_signal
    PROCESS(pidfd_send_signal)
#endif
#ifdef __NR_kexec_file_load
    SYSTEM(kexec_file_load)
#endif
};

/* Denied for some arguments, or after kit_refuse_files; listed here for their names. */
static const refused_call sometimes[] = {
    PROCESS(clone) PROCESS(kill) PROCESS(tgkill) FILES(openat)
#ifdef __NR_open
    FILES(open)
#endif
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const refused_call *find_call(int32_t number) {
    for (size_t i = 0; i < COUNT(always); i++)
        if (always[i].number == number) return &always[i];
    for (size_t i = 0; i < COUNT(sometimes); i++)
        if (sometimes[i].number == number) return &sometimes[i];
    return NULL;
}

const char *kit_call_name(int32_t number) {
    const refused_call *call = find_call(number);
    return call ? call->name : "a system call";
}

int kit_call_kind(int32_t number) {
    const refused_call *call = find_call(number);
    return call ? call->kind : 0;
}

static kit_board *noted_on;

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
static uint64_t argument(const ucontext_t *state, int index) {
    static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return (uint64_t)state->uc_mcontext.gregs[registers[index]];
}
static void answer(ucontext_t *state, int64_t value) { state->uc_mcontext.gregs[REG_RAX] = value; }
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
static uint64_t argument(const ucontext_t *state, int index) { return state->uc_mcontext.regs[index]; }
static void answer(ucontext_t *state, int64_t value) { state->uc_mcontext.regs[0] = (uint64_t)value; }
#else
#error "name this machine's registers"
#endif

static void note_refusal(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *state = context;
    int32_t     number = info->si_syscall;
    const char *path   = NULL;
    if (number == __NR_openat) path = (const char *)(uintptr_t)argument(state, 1);
#ifdef __NR_open
    if (number == __NR_open) path = (const char *)(uintptr_t)argument(state, 0);
#endif
    kit_board_note_refusal(noted_on, number, path);
    answer(state, kit_call_kind(number) == KIT_KIND_FILE ? -EACCES : -EPERM);
}

enum { FILTER_ROOM = 512 };
static struct sock_filter program[FILTER_ROOM];
static unsigned short     length;

static void add(uint16_t code, uint32_t value, uint8_t yes, uint8_t no) {
    if (length < FILTER_ROOM) program[length++] = (struct sock_filter){code, yes, no, value};
}
static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void end_with(uint32_t action) { add(BPF_RET | BPF_K, action, 0, 0); }
static void load_argument(int index) { load(offsetof(struct seccomp_data, args) + 8 * (size_t)index); }
static void load_number(void) { load(offsetof(struct seccomp_data, nr)); }

static void begin_filter(void) {
    length = 0;
    load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
    end_with(SECCOMP_RET_KILL_PROCESS);
    load_number();
}

static void refuse(int number) {
    add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    end_with(SECCOMP_RET_TRAP);
}

/* Refuses a call unless its argument, masked, is `wanted`. */
static void refuse_unless(int number, int index, uint32_t mask, uint32_t wanted) {
    add(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 5);
    load_argument(index);
    add(BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    add(BPF_JMP | BPF_JEQ | BPF_K, wanted, 1, 0);
    end_with(SECCOMP_RET_TRAP);
    end_with(SECCOMP_RET_ALLOW);
}

static int install(void) {
    end_with(SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = length, .filter = program};
    if (length >= FILTER_ROOM) return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

int kit_is_sanitized(void) {
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 1;
#endif
#endif
    return 0;
}

static void bound(int which, uint64_t value) {
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0) return;
    if (limit.rlim_max != RLIM_INFINITY && value > limit.rlim_max) value = limit.rlim_max;
    limit.rlim_cur = value;
    limit.rlim_max = value;
    setrlimit(which, &limit);
}

int kit_confine(kit_board *board, kit_bounds bounds) {
    noted_on = board;
    bound(RLIMIT_CORE, 0);
    /* The sanitizer's shadow memory counts towards the limit; at the limit a sanitizer ends the process. */
    if (!kit_is_sanitized()) bound(RLIMIT_DATA, bounds.memory);
    bound(RLIMIT_NOFILE, bounds.descriptors);
    bound(RLIMIT_FSIZE, bounds.file_bytes);
    bound(RLIMIT_CPU, bounds.processor_seconds);

    /* A language runtime's crash handler would start another program. */
    const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGQUIT};
    for (size_t i = 0; i < COUNT(fatal); i++) signal(fatal[i], SIG_DFL);
    struct sigaction action = {.sa_sigaction = note_refusal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);

    begin_filter();
    for (size_t i = 0; i < COUNT(always); i++) refuse(always[i].number);
    refuse_unless(__NR_kill, 0, 0xffffffff, (uint32_t)getpid());
    refuse_unless(__NR_tgkill, 0, 0xffffffff, (uint32_t)getpid());
    refuse_unless(__NR_clone, 0, CLONE_THREAD, CLONE_THREAD);
    /* glibc falls back to clone, whose flags a filter can check. */
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1);
    end_with(SECCOMP_RET_ERRNO | ENOSYS);
    const uint32_t changes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
    refuse_unless(__NR_openat, 2, changes, 0);
#ifdef __NR_open
    refuse_unless(__NR_open, 1, changes, 0);
#endif
#ifdef __NR_openat2
    /* Its flags are in memory, invisible to a filter. Callers handle kernels without openat2. */
    add(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat2, 0, 1);
    end_with(SECCOMP_RET_ERRNO | ENOSYS);
#endif
    return install();
}

int kit_refuse_files(void) {
    begin_filter();
    refuse(__NR_openat);
#ifdef __NR_open
    refuse(__NR_open);
#endif
    return install();
}
