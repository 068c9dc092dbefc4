/*
 * processes.c - attacks on processes: exits that look like a missing sandbox, forks, and other processes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- exits that a host could mistake for a machine without a sandbox ---- */

static int end_with(int code) {
    if (!leaves_proof()) syscall(SYS_exit_group, code);
    return 1;
}
int exit_0(void) { return end_with(0); }
int exit_64(void) { return end_with(64); }
int exit_65(void) { return end_with(65); }
int exit_66(void) { return end_with(66); }
int exit_127(void) { return end_with(127); }
int exit_137(void) { return end_with(137); }
int exit_143(void) { return end_with(143); }
int die_by_kill(void) {
    if (leaves_proof()) return 1;
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGKILL);
    kill(getpid(), SIGKILL);
    return 0;
}
int die_by_term(void) {
    if (leaves_proof()) return 1;
    signal(SIGTERM, SIG_DFL);
    kill(getpid(), SIGTERM);
    syscall(SYS_exit_group, 128 + SIGTERM);
    return 0;
}
int stop_itself(void) {
    if (leaves_proof()) return 1;
    kill(getpid(), SIGSTOP);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP);
    return 0;
}
int never_end(void) {
    if (leaves_proof()) return 1;
    for (volatile int always = 1; always;) {
    }
    return 0;
}
int sleep_for_ever(void) {
    if (leaves_proof()) return 1;
    for (;;) wait_milliseconds(1000);
}
int close_everything(void) {
    if (leaves_proof()) return 1;
    for (int i = 0; i < 1024; i++) close(i);
    return 0;
}
int shut_socket_down(void) {
    if (leaves_proof()) return 1;
    return syscall(SYS_shutdown, 3, SHUT_RDWR), 0;
}
/* Takes every descriptor, so that the process cannot receive a socket. */
int take_descriptors(void) {
    if (leaves_proof()) return 1;
    for (int i = 0; i < 2000 && syscall(SYS_dup, 0) >= 0; i++) {
    }
    return 0;
}

/* ---- too many processes ---- */

enum { MOST = 300 };

/* The processes live for a second, so that the judge can count them. */
int fork_300(void) {
    for (int i = 0; i < MOST; i++) {
        long child = fork_as_the_worker();
        if (child < 0) break;
        if (child == 0) {
            wait_milliseconds(1000);
            _exit(0);
        }
    }
    wait_milliseconds(300);
    return 0;
}
/* Forks up to the limit, so that the zygote cannot fork any more workers. */
int fork_out(void) {
    if (leaves_proof()) return 1;
    for (int i = 0; i < MOST; i++) {
        long child = fork_as_the_worker();
        if (child < 0) break;
        if (child == 0) {
            for (;;) wait_milliseconds(1000);
        }
    }
    return 0;
}
int fork_plainly(void) {
    long child = fork();
    if (child == 0) {
        for (;;) wait_milliseconds(1000);
    }
    return child > 0;
}
int fork_clone3(void) {
    uint64_t arguments[11] = {0, 0, 0, 0, SIGCHLD};
    long     child = syscall(CALL_CLONE3, arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return child > 0;
}
static void *sleep_a_while(void *argument) {
    wait_milliseconds(1000);
    return argument;
}
int threads_300(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_t thread;
    for (int i = 0; i < MOST; i++) {
        if (pthread_create(&thread, &small, sleep_a_while, NULL) != 0) break;
    }
    wait_milliseconds(300);
    return 0;
}
/* Leaves the session, ignores signals and stays. */
int outlive_host(void) {
    long child = scene.stage == LEFT ? 0 : fork_as_the_worker();
    if (child != 0) return 0;
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    setsid();
    for (int i = 1; i < 32; i++) signal(i, SIG_IGN);
    for (int i = 0; i < 60; i++) wait_milliseconds(1000);
    _exit(0);
}

/* The judge kills the host meanwhile. */
int outlive_killed_host(void) {
    for (int i = 1; i < 32; i++) signal(i, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    for (int i = 0; i < 15; i++) wait_milliseconds(1000);
    return 0;
}

/* ---- threads that act at unexpected times ---- */

static volatile int may_act;
static void act(void) {
    syscall(SYS_fchmodat, AT_FDCWD, in_place("key"), 0666);
    syscall(SYS_openat, AT_FDCWD, in_place("new"), O_CREAT | O_WRONLY, 0600);
    syscall(SYS_kill, choice.canary, SIGKILL);
}
static void *wait_and_act(void *argument) {
    while (!may_act) wait_milliseconds(1);
    act();
    return argument;
}
/* The constructor's thread acts while an image is decoded: the second filter holds every thread. */
int act_from_early_thread(void) {
    pthread_t thread;
    if (scene.stage == AT_LOAD) return pthread_create(&thread, NULL, wait_and_act, NULL) * 0;
    may_act = 1;
    wait_milliseconds(100);
    return 0;
}
static void *sleep_and_act(void *argument) {
    wait_milliseconds(30);
    act();
    return argument;
}
int act_after_close(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, sleep_and_act, NULL) * 0;
}
/* Without the second filter, each of these calls is sent to the guardian. */
int flood_guardian(void) {
    if (leaves_proof()) return 1;
    for (;;) syscall(SYS_getdents64, 0, NULL, 0);
}

/* ---- other programs ---- */

int run_program(void) {
    char *arguments[] = {"touch", (char *)(uintptr_t)in_place("new"), NULL};
    char *nothing[] = {NULL};
    if (scene.stage == LEFT || fork_as_the_worker() == 0) {
        syscall(SYS_execve, "/usr/bin/touch", arguments, nothing);
        syscall(SYS_execve, "/bin/touch", arguments, nothing);
        _exit(0);
    }
    wait_milliseconds(200);
    return 0;
}
/* A program that exists in memory only. */
int run_memory(void) {
    char script[600];
    int  length = snprintf(script, sizeof script, "#!/bin/sh\n: >'%s'\n", in_place("new"));
    int  descriptor = (int)syscall(SYS_memfd_create, "program", 0);
    if (descriptor < 0 || write(descriptor, script, (size_t)length) != length) return 0;
    char *arguments[] = {"program", NULL};
    char *nothing[] = {NULL};
    if (scene.stage == LEFT || fork_as_the_worker() == 0) {
        syscall(SYS_execveat, descriptor, "", arguments, nothing, AT_EMPTY_PATH);
        _exit(0);
    }
    wait_milliseconds(200);
    return 0;
}

/* ---- the canary, a process of the same user ---- */

int kill_canary(void) { return kill(choice.canary, SIGKILL), 0; }
int stop_canary(void) { return kill(choice.canary, SIGSTOP), 0; }
int tgkill_canary(void) { return syscall(SYS_tgkill, choice.canary, choice.canary, SIGKILL), 0; }
int tkill_canary(void) { return syscall(SYS_tkill, choice.canary, SIGKILL), 0; }
int queue_signal(void) {
    siginfo_t info = {.si_signo = SIGKILL, .si_code = -1};
    return syscall(SYS_rt_sigqueueinfo, choice.canary, SIGKILL, &info), 0;
}
int kill_by_descriptor(void) {
    long descriptor = syscall(CALL_PIDFD_OPEN, choice.canary, 0);
    return descriptor >= 0 && syscall(CALL_PIDFD_SEND_SIGNAL, descriptor, SIGKILL, NULL, 0) == 0;
}
/* Signal 0 harms no process, and is denied under the same conditions as other signals. */
int signal_everyone(void) { return kill(-1, 0) == 0; }
int trace_canary(void) {
    return ptrace(PTRACE_SEIZE, choice.canary, NULL, NULL) == 0 || ptrace(PTRACE_ATTACH, choice.canary, NULL, NULL) == 0;
}
int read_canary(void) {
    char         copy[16] = "";
    struct iovec mine = {copy, sizeof copy};
    struct iovec theirs = {(void *)(uintptr_t)choice.canary_address, sizeof copy};
    return syscall(SYS_process_vm_readv, choice.canary, &mine, 1, &theirs, 1, 0) == sizeof copy;
}
int write_canary(void) {
    char         damage[16] = CANARY_DAMAGE;
    struct iovec mine = {damage, sizeof damage};
    struct iovec theirs = {(void *)(uintptr_t)choice.canary_address, sizeof damage};
    return syscall(SYS_process_vm_writev, choice.canary, &mine, 1, &theirs, 1, 0), 0;
}
int write_canary_by_proc(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", choice.canary);
    int descriptor = open(path, O_RDWR);
    return descriptor >= 0 && pwrite(descriptor, CANARY_DAMAGE, 16, (off_t)choice.canary_address) == 16;
}
int read_canary_environment(void) {
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/environ", choice.canary);
    int descriptor = open(path, O_RDONLY);
    return descriptor >= 0 && read(descriptor, text, sizeof text) > 0;
}
int take_descriptor(void) {
    long descriptor = syscall(CALL_PIDFD_OPEN, choice.canary, 0);
    return descriptor >= 0 && syscall(CALL_PIDFD_GETFD, descriptor, 0, 0) >= 0;
}
int limit_canary(void) {
    struct rlimit limit = {7, 7};
    return syscall(SYS_prlimit64, choice.canary, RLIMIT_NOFILE, &limit, NULL), 0;
}
int slow_canary(void) { return setpriority(PRIO_PROCESS, (id_t)choice.canary, 19), 0; }
int pin_canary(void) {
    unsigned long first = 1;
    return syscall(SYS_sched_setaffinity, choice.canary, sizeof first, &first), 0;
}
int idle_canary(void) {
    struct sched_param none = {0};
    return syscall(SYS_sched_setscheduler, choice.canary, SCHED_IDLE, &none), 0;
}
int see_canary(void) {
    unsigned long mask[16];
    struct rlimit limit;
    return syscall(SYS_sched_getaffinity, choice.canary, sizeof mask, mask) > 0 ||
           syscall(SYS_getpgid, choice.canary) > 0 ||
           syscall(SYS_prlimit64, choice.canary, RLIMIT_NOFILE, NULL, &limit) == 0;
}
int read_robust_list(void) {
    void  *head = NULL;
    size_t length = 0;
    return syscall(SYS_get_robust_list, choice.canary, &head, &length) == 0;
}
int compare_canary(void) { return syscall(SYS_kcmp, choice.canary, choice.canary, 0, 0, 0) == 0; }
int page_canary_out(void) {
    struct iovec theirs = {(void *)(uintptr_t)(choice.canary_address & ~(uint64_t)4095), 4096};
    long         descriptor = syscall(CALL_PIDFD_OPEN, choice.canary, 0);
    return descriptor >= 0 && syscall(CALL_PROCESS_MADVISE, descriptor, &theirs, 1, MADV_COLD, 0) >= 0;
}

/* ---- the guardian and other workers ---- */

int stop_guardian(void) {
    if (leaves_proof()) return 1;
    if (getppid() > 1) kill(getppid(), SIGSTOP);
    syscall(SYS_kill, 1, SIGSTOP);
    syscall(SYS_tgkill, getppid(), getppid(), SIGSTOP);
    return 0;
}
int kill_guardian(void) {
    if (leaves_proof()) return 1;
    if (getppid() > 1) kill(getppid(), SIGKILL);
    syscall(SYS_tgkill, getppid(), getppid(), SIGKILL);
    return 0;
}
int limit_guardian(void) {
    struct rlimit none = {0, 0};
    pid_t         parent = getppid();
    return parent > 1 && syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, &none, NULL) == 0;
}
/* Workers of a plugin have close numbers. Without a namespace they could belong to other programs. */
int kill_siblings(void) {
    if (scene.is_second) return wait_milliseconds(600), 0;
    wait_milliseconds(200);
    for (int i = 2; i < 64 && getppid() == 1; i++) {
        if (i != getpid()) syscall(SYS_tgkill, i, i, SIGKILL);
    }
    return 0;
}
