/*
 * kernel.c - attacks on networks, terminals, System V objects, and parts of the kernel with a history of faults.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/un.h>

/* ---- networks: the judge listens ---- */

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
int connect_tcp(void) {
    struct sockaddr_in address = loopback(choice.tcp_port);
    int                descriptor = socket(AF_INET, SOCK_STREAM, 0);
    return descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
}
int send_udp(void) {
    struct sockaddr_in address = loopback(choice.udp_port);
    int                descriptor = socket(AF_INET, SOCK_DGRAM, 0);
    return descriptor >= 0 && sendto(descriptor, "x", 1, 0, (struct sockaddr *)&address, sizeof address) == 1;
}
int connect_unix(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s", in_place("socket"));
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    return descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0;
}
int connect_abstract(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", choice.abstract_name);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(choice.abstract_name));
    int       descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    return descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, length) == 0;
}
/* The host's socket pair accepts no address. */
int send_by_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s", in_place("socket"));
    return sendto(3, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address) > 0 && 0;
}
int open_sockets(void) {
    static const int families[][3] = {{AF_INET6, SOCK_DGRAM, 0}, {AF_NETLINK, SOCK_RAW, 0}, {AF_PACKET, SOCK_RAW, 0},
                                      {38 /* AF_ALG */, SOCK_SEQPACKET, 0}, {40 /* AF_VSOCK */, SOCK_STREAM, 0}};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (socket(families[i][0], families[i][1], families[i][2]) >= 0) return 1;
    }
    return 0;
}
int make_socket_pair(void) {
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
}

/* ---- interfaces ---- */

int use_io_uring(void) {
    char parameters[256] = "";
    return syscall(CALL_IO_URING_SETUP, 4, parameters) >= 0;
}
int use_bpf(void) {
    struct {
        uint32_t type, key, value, entries;
        char     rest[112];
    } map = {2, 4, 4, 1, ""};
    return syscall(SYS_bpf, 0, &map, sizeof map) >= 0;
}
int use_perf(void) {
    uint64_t attributes[17] = {0};
    uint32_t head[2] = {1 /* software */, sizeof attributes};
    memcpy(attributes, head, sizeof head);
    attributes[5] = UINT64_C(1) << 5 | UINT64_C(1) << 6; /* no kernel, no hypervisor */
    return syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0) >= 0;
}
int use_userfaultfd(void) { return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) >= 0; }
int use_keys(void) {
    return syscall(SYS_add_key, "user", "hostile", "x", 1, -2 /* the process */) >= 0 ||
           syscall(SYS_keyctl, 0 /* its number */, -4 /* the user's */, 1) >= 0 ||
           syscall(SYS_request_key, "user", "hostile", NULL, 0) >= 0;
}
int use_aio(void) {
    unsigned long context = 0;
    return syscall(SYS_io_setup, 8, &context) == 0;
}
int use_namespaces(void) { return unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWNET) == 0; }
int use_pidfd(void) { return syscall(CALL_PIDFD_OPEN, getpid(), 0) >= 0; }
/* A second listener could answer in place of the guardian. */
int own_listener(void) {
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog  program = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) >= 0;
}
int other_machine(void) {
#if defined(__x86_64__)
    long result = 20; /* getpid of 32-bit programs */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result > 0;
#else
    return 0;
#endif
}
int x32_calls(void) {
#if defined(__x86_64__)
    return syscall(0x40000000L | SYS_getpid) > 0;
#else
    return 0;
#endif
}
int local_descriptor_table(void) {
#if defined(__x86_64__)
    char table[16];
    return syscall(SYS_modify_ldt, 0, table, sizeof table) >= 0;
#else
    return 0;
#endif
}
int read_log(void) {
    static char room[4096];
    return syscall(SYS_syslog, 3, room, sizeof room) > 0;
}
int read_clock_state(void) {
    struct timex state = {.modes = 0};
    return adjtimex(&state) >= 0;
}
int use_quota(void) {
    char quota[128];
    return syscall(SYS_quotactl, 0x800007 << 8, "/dev/root", 0, quota) == 0;
}
int add_landlock(void) {
    uint64_t rules[1] = {1};
    return syscall(444, rules, sizeof rules, 0) >= 0;
}

/* ---- prctl ---- */

int become_dumpable(void) { return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; }
int adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }
int allow_tracer(void) { return prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) == 0; }
int stop_by_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGSTOP, 0, 0, 0) == 0; }
int move_memory_map(void) { return prctl(PR_SET_MM, 1, 0x10000, 0, 0) == 0; }
int merge_memory(void) { return prctl(67 /* PR_SET_MEMORY_MERGE */, 1, 0, 0, 0) == 0; }
int speculate(void) { return prctl(53 /* PR_SET_SPECULATION_CTRL */, 0, 2, 0, 0) == 0; }
int hide_calls(void) {
    static char selector;
    return prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector) == 0;
}

/* ---- objects that outlive the process: those of the system's own names ---- */

int leave_segment(void) {
    return shmget(choice.object_key, 4096, IPC_CREAT | 0600) >= 0;
}
int leave_semaphore(void) { return semget(choice.object_key, 1, IPC_CREAT | 0600) >= 0; }
int leave_messages(void) { return msgget(choice.object_key, IPC_CREAT | 0600) >= 0; }
int leave_message_queue(void) {
    return syscall(SYS_mq_open, choice.abstract_name, O_CREAT | O_RDWR, 0600, NULL) >= 0;
}

/* ---- terminals and turns of the processor ---- */

int type_into_terminal(void) {
    int terminal = open("/dev/tty", O_RDWR);
    for (int i = 0; i < 3; i++) ioctl(i, TIOCSTI, "!");
    if (terminal >= 0) ioctl(terminal, TIOCSTI, "!");
    return terminal >= 0;
}
int paste_into_terminal(void) {
    char paste[] = {3};
    for (int i = 0; i < 3; i++) {
        if (ioctl(i, TIOCLINUX, paste) == 0) return 1;
    }
    return 0;
}
int take_terminal(void) {
    setsid();
    for (int i = 0; i < 3; i++) {
        if (ioctl(i, TIOCSCTTY, 0) == 0) return 1;
    }
    return 0;
}
int real_time(void) {
    struct sched_param first = {1};
    return syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first) == 0;
}
int deadline_time(void) {
    uint64_t attributes[6] = {(uint64_t)6 << 32 | 48, 0, 0, 1000000, 10000000, 10000000};
    return syscall(SYS_sched_setattr, 0, attributes, 0) == 0;
}
int be_first(void) { return setpriority(PRIO_PROCESS, 0, -20) == 0; }
int real_time_input(void) { return syscall(SYS_ioprio_set, 1, 0, 1 << 13) == 0; }
int many_timers(void) {
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    int             timer;
    for (int i = 0; i < 4096; i++) {
        if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return 0;
    }
    return 1;
}
