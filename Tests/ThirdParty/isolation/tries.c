/*
 * tries.c - a correct plugin that makes one more attempt, named by -DTRY=...: when its header is read, or with
 * -DAT_LOAD during loading. If a forbidden attempt succeeds, it returns CPI_INTERNAL (or aborts during loading).
 *
 * With -DFORGE its constructor prevents the seal of its process without the process noticing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <coder_plugin.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* linux/sched.h does not go together with sched.h everywhere. */
#define CLONE_PIDFD_FLAG          0x00001000
#define CLONE_CHILD_SETTID_FLAG   0x01000000
#define CLONE_CHILD_CLEARTID_FLAG 0x00200000

#ifndef TRY
#define TRY nothing
#endif

static cpi_status verdict(int succeeded) { return succeeded ? CPI_INTERNAL : CPI_OK; }

static inline cpi_status nothing(void) { return CPI_OK; }
static inline cpi_status read_file(void) { return verdict(open("/etc/passwd", O_RDONLY) >= 0); }
static inline cpi_status write_file(void) { return verdict(open("/tmp/from-a-plugin", O_CREAT | O_WRONLY, 0600) >= 0); }
static inline cpi_status look_at_file(void) {
    struct stat status;
    return verdict(stat("/etc/passwd", &status) == 0);
}
static inline cpi_status connect_out(void) { return verdict(socket(AF_INET, SOCK_STREAM, 0) >= 0); }
static inline cpi_status make_process(void) { return verdict(fork() >= 0); }
static inline cpi_status run_program(void) { return verdict(execl("/bin/true", "true", (char *)NULL) == 0); }
static inline cpi_status replace_output(void) { return verdict(dup2(3, 1) == 1); }
static inline cpi_status open_by_handle(void) { return verdict(syscall(SYS_open_by_handle_at, 0, NULL, 0) >= 0); }
static inline cpi_status change_mode(void) { return verdict(chmod("/etc/passwd", 0666) == 0); }
static inline cpi_status change_owner(void) { return verdict(chown("/etc/passwd", 1, 1) == 0); }
static inline cpi_status set_attribute(void) { return verdict(syscall(SYS_setxattr, "/etc", "user.a", "b", 1, 0) == 0); }
static inline cpi_status set_times(void) { return verdict(syscall(SYS_utimensat, AT_FDCWD, "/etc", NULL, 0) == 0); }
static inline cpi_status watch_folder(void) { return verdict(syscall(SYS_inotify_init1, 0) >= 0); }
static void *idle(void *argument) { return argument; }
static inline cpi_status start_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) != 0) return CPI_OK;
    pthread_join(thread, NULL);
    return CPI_INTERNAL;
}
/* Succeeds if a number of threads other than three could be started. */
static void *wait_long(void *argument) {
    struct timespec hour = {3600, 0};
    nanosleep(&hour, NULL);
    return argument;
}
static inline cpi_status start_many_threads(void) {
    int count = 0;
    pthread_t thread;
    while (count < 64 && pthread_create(&thread, NULL, wait_long, NULL) == 0) count++;
    return verdict(count != 3);
}
static inline cpi_status map_code(void) {
    return verdict(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}
static inline cpi_status kill_parent(void) { return verdict(kill(getppid(), SIGKILL) == 0); }
static inline cpi_status outlive_parent(void) { return verdict(prctl(PR_SET_PDEATHSIG, 0) == 0); }
static inline cpi_status raise_limit(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return verdict(setrlimit(RLIMIT_DATA, &limit) == 0);
}
static inline cpi_status debug_parent(void) { return verdict(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0); }
static inline cpi_status new_namespace(void) { return verdict(syscall(SYS_unshare, 0x10000000) == 0); }
static inline cpi_status take_memory(void) {
    for (int i = 0; i < 4096; i++) {
        char *block = malloc(1 << 20);
        if (!block) return CPI_NO_MEMORY;
        for (int at = 0; at < 1 << 20; at += 4096) block[at] = 1;
    }
    return CPI_INTERNAL;
}
static inline cpi_status loop(void) {
    for (volatile int always = 1; always;) {}
    return CPI_INTERNAL;
}
/* Maps memory that RLIMIT_DATA does not count. */
static inline cpi_status share_memory(void) {
    return verdict(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}
static inline cpi_status grow_memory_down(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN;
    return verdict(mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED);
}
static inline cpi_status kill_itself(void) {
    return verdict(syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGKILL) == 0);
}
/* Writes into every page to which the program has a pointer, including the one that its parent reads at the end. */
static int leave_in_pages(struct dl_phdr_info *program, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t end = program->dlpi_addr + part->p_vaddr + part->p_memsz;
        for (uintptr_t at = (program->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7; at + 8 <= end; at += 8) {
            uintptr_t value = *(const uintptr_t *)at;
            unsigned char residency;
            if (value > 1 << 20 && value % 4096 == 0 && mincore((void *)value, 4096, &residency) == 0 &&
                *(volatile int *)value == 0) {
                *(volatile int *)value = SIGSTOP;
            }
        }
    }
    return 1;
}
static inline cpi_status leave_a_stop(void) {
    dl_iterate_phdr(leave_in_pages, NULL);
    _exit(0);
}
static inline cpi_status sleep_long(void) {
    struct timespec hour = {3600, 0};
    nanosleep(&hour, NULL);
    return CPI_INTERNAL;
}
static inline cpi_status give_up(void) { abort(); }
static inline cpi_status crash(void) {
    *(volatile int *)16 = 1;
    return CPI_INTERNAL;
}
#if defined(__x86_64__)
/* getpid of the 32-bit architecture, where the filter's numbers denote other calls. */
static inline cpi_status other_machine(void) {
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return verdict(result > 0);
}
#endif

static inline cpi_status map_code_for_a_file(void) {
    int descriptor = (int)syscall(SYS_memfd_create, "code", 0);
    if (descriptor < 0) return CPI_OK;
    return verdict(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0) != MAP_FAILED);
}
static inline cpi_status make_code(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return verdict(page != MAP_FAILED && mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
}
static inline cpi_status make_pipe(void) {
    int ends[2];
    return verdict(pipe(ends) == 0);
}
static inline cpi_status open_anew(void) { return verdict(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0) >= 0); }
static inline cpi_status raise_soft_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0) return CPI_INTERNAL;
    limit.rlim_cur = limit.rlim_max;
    return verdict(setrlimit(RLIMIT_DATA, &limit) == 0 || syscall(SYS_setrlimit, RLIMIT_DATA, &limit) == 0);
}
static inline cpi_status raise_limit_and_take_memory(void) {
    raise_soft_limit();
    return take_memory();
}
static inline cpi_status limit_parent(void) {
    struct rlimit none = {0, 0};
    return verdict(syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, &none, NULL) == 0);
}
/* Forks in the only way permitted during loading; the child runs forever. */
static inline cpi_status leave_process(void) {
    static int numbers[2];
    long flags = CLONE_PIDFD_FLAG | CLONE_CHILD_SETTID_FLAG | CLONE_CHILD_CLEARTID_FLAG | SIGCHLD;
#if defined(__aarch64__)
    long child = syscall(SYS_clone, flags, NULL, &numbers[0], NULL, &numbers[1]);
#else
    long child = syscall(SYS_clone, flags, NULL, &numbers[0], &numbers[1], NULL);
#endif
    struct timespec hour = {3600, 0};
    if (child == 0) {
        for (;;) nanosleep(&hour, NULL);
    }
    return child > 0 ? CPI_OK : CPI_INTERNAL;
}
/* The same, but the child tries endlessly to open a file, and kills all processes once it succeeds. */
static volatile int *was_open;
static void *open_for_ever(void *argument) {
    for (;;) {
        int descriptor = open("/usr/lib/os-release", O_RDONLY);
        *was_open = descriptor >= 0 ? 1 : -errno;
        if (descriptor >= 0) close(descriptor);
    }
    return argument;
}
static inline cpi_status leave_thread_that_opens(void) {
    static int answer;
    was_open = &answer;
    pthread_t thread;
    if (pthread_create(&thread, NULL, open_for_ever, NULL) != 0) return CPI_INTERNAL;
    while (answer == 0) sched_yield();
    return CPI_OK;
}

#ifdef FORGE
static long no_seal(long call, long a, long b, long c, long d, long e, long f) {
    long (*real)(long, ...) = syscall;
    return call == SYS_seccomp ? 0 : real(call, a, b, c, d, e, f);
}
/* Replaces the program's pointer to the C library's `syscall`. */
static int bend(struct dl_phdr_info *program, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W)) continue;
        uintptr_t start = (program->dlpi_addr + part->p_vaddr) & ~(uintptr_t)4095;
        uintptr_t end = program->dlpi_addr + part->p_vaddr + part->p_memsz;
        mprotect((void *)start, end - start, PROT_READ | PROT_WRITE);
        for (uintptr_t at = start; at + 8 <= end; at += 8) {
            if (*(uintptr_t *)at == (uintptr_t)syscall) *(uintptr_t *)at = (uintptr_t)no_seal;
        }
    }
    return 1;
}
__attribute__((constructor)) static void forge(void) { dl_iterate_phdr(bend, NULL); }
#endif

#ifdef AT_LOAD
__attribute__((constructor)) static void try_it(void) {
    if (TRY() != CPI_OK) abort();
}
#else
#define ANSWER TRY()
#endif

#include "../bad/plugin.h"
