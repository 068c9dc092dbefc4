#define _GNU_SOURCE
#include "host_worker.h"

#include "host_processors.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* since Linux 6.3 */
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* since Linux 5.1 */
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

enum { MAX_DESCRIPTORS = 4 };

int host_socket_pair(int *first, int *second) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return -1;
    }
    *first = pair[0];
    *second = pair[1];
    return 0;
}

static int start_worker(const char *path, int socket, int guardian, int group, int *handle) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0) {
        errno = failure;
        return -1;
    }
    if ((failure = posix_spawnattr_init(&attributes)) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        errno = failure;
        return -1;
    }
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    /* Duplicate the socket first, because the next actions may overwrite its number. */
    posix_spawn_file_actions_adddup2(&actions, socket, 3);
    posix_spawn_file_actions_adddup2(&actions, guardian, 4);
    if (group >= 0) {
        posix_spawn_file_actions_adddup2(&actions, group, 5);
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, group >= 0 ? 6 : 5);
    char *arguments[] = {"coderhost-worker", NULL};
    char *environment[] = {NULL};
    pid_t process = -1;
    host_lift_binding(1);
    failure = posix_spawn(&process, path, &actions, &attributes, arguments, environment);
    host_lift_binding(0);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        errno = failure;
        return -1;
    }
    *handle = (int)syscall(SYS_pidfd_open, process, 0);
    return process;
}

int host_start_worker(const char *path, int socket, int guardian, int group, int *handle) {
    /* Above the numbers assigned to the other descriptors. */
    int order = fcntl(guardian, F_DUPFD_CLOEXEC, 6);
    int entrance = group >= 0 ? fcntl(group, F_DUPFD_CLOEXEC, 6) : -1;
    int process = order < 0 || (group >= 0 && entrance < 0)
                      ? -1
                      : start_worker(path, socket, order, entrance, handle);
    int problem = errno;
    if (order >= 0) {
        close(order);
    }
    if (entrance >= 0) {
        close(entrance);
    }
    errno = problem;
    return process;
}

int host_signal(int handle, int process, int number) {
    if (handle >= 0) {
        return (int)syscall(SYS_pidfd_send_signal, handle, number, NULL, 0);
    }
    return process > 0 ? kill(process, number) : 0;
}

/* include/uapi/linux/pidfd.h: struct pidfd_info and PIDFD_GET_INFO, since Linux 6.13. */
struct process_info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t process, group_leader, parent, others[9];
};
#define GET_PROCESS_INFO _IOWR(0xFF, 11, struct process_info)

/* The beginning of a file of /proc as text; empty where it cannot be read. */
static void read_text(const char *path, char *text, size_t room) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor >= 0 ? read(descriptor, text, room - 1) : -1;
    if (descriptor >= 0) {
        close(descriptor);
    }
    text[length > 0 ? length : 0] = '\0';
}

/* The process number behind a descriptor; HOST_HAS_ENDED, or 0 if the descriptor is not a pidfd. */
static int process_behind(int handle) {
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", handle);
    read_text(path, text, sizeof text);
    const char *line = strstr(text, "\nPid:\t");
    int process = 0;
    if (!line || sscanf(line, "\nPid:\t%d", &process) != 1) {
        return 0;
    }
    return process < 0 ? HOST_HAS_ENDED : process;
}

static int parent_by_number(int process) {
    char path[64];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    read_text(path, text, sizeof text);
    /* number (name) state parent; parse after the name, which may hold any characters. */
    const char *behind = strrchr(text, ')');
    char state;
    int found;
    return behind && sscanf(behind + 1, " %c %d", &state, &found) == 2 ? found : 0;
}

/* The parent of the process behind a descriptor, and its own number. */
static int identify(int handle, int *process) {
    struct process_info info;
    memset(&info, 0, sizeof info);
    if (ioctl(handle, GET_PROCESS_INFO, &info) == 0) {
        *process = (int)info.process;
        return (int)info.parent;
    }
    if (errno == ESRCH) {
        return HOST_HAS_ENDED;
    }
    *process = process_behind(handle);
    if (*process <= 0) {
        return *process;
    }
    int found = parent_by_number(*process);
    /* Numbers are reused; if the descriptor still has the number, it was not. */
    int again = process_behind(handle);
    return again == *process ? found : again;
}

int host_parent(int handle) {
    int process;
    return identify(handle, &process);
}

int host_share_processors(int handle, int parent) {
    cpu_set_t set;
    int process = 0;
    if (identify(handle, &process) != parent || process <= 0 || sched_getaffinity(0, sizeof set, &set) != 0) {
        return -1;
    }
    return sched_setaffinity(process, sizeof set, &set);
}

int host_has_ended(int handle, int milliseconds) {
    struct pollfd entry = {.fd = handle, .events = POLLIN};
    return poll(&entry, 1, milliseconds) > 0;
}

int host_ending(int process, int milliseconds) {
    siginfo_t info;
    for (int waited = 0;; waited += 2) {
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
            return -1;
        }
        if (info.si_pid != 0) {
            return info.si_code == CLD_EXITED ? info.si_status : HOST_ENDED_BY + info.si_status;
        }
        if (waited >= milliseconds) {
            return -1;
        }
        poll(NULL, 0, 2);
    }
}

int host_reap(int process) {
    int status;
    pid_t answer;
    do {
        answer = waitpid(process, &status, 0);
    } while (answer < 0 && errno == EINTR);
    return answer < 0 ? -1 : 0;
}

int64_t host_send_packet(int socket, const void *head, size_t head_count, const void *body, size_t body_count,
                         const int *descriptors, uint32_t descriptor_count, int milliseconds) {
    struct iovec parts[2] = {
        {.iov_base = (void *)(uintptr_t)head, .iov_len = head_count},
        {.iov_base = (void *)(uintptr_t)body, .iov_len = body_count},
    };
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body_count > 0 ? 2 : 1};
    if (descriptor_count > MAX_DESCRIPTORS) {
        errno = EINVAL;
        return -1;
    }
    if (descriptor_count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
        struct cmsghdr *entry = CMSG_FIRSTHDR(&message);
        entry->cmsg_level = SOL_SOCKET;
        entry->cmsg_type = SCM_RIGHTS;
        entry->cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
        memcpy(CMSG_DATA(entry), descriptors, descriptor_count * sizeof(int));
    }
    for (;;) {
        ssize_t count = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR)) {
            return count;
        }
        struct pollfd entry = {.fd = socket, .events = POLLOUT};
        if (poll(&entry, 1, milliseconds) == 0) {
            errno = EAGAIN;
            return -1;
        }
    }
}

int64_t host_receive_packet(int socket, void *buffer, size_t capacity, int *descriptors, uint32_t *descriptor_count,
                            int milliseconds) {
    struct iovec part = {.iov_base = buffer, .iov_len = capacity};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    /* Without room the kernel closes them and sets MSG_CTRUNC. */
    const size_t control_room = *descriptor_count > 0 ? sizeof control : 0;
    ssize_t count;
    for (;;) {
        struct pollfd entry = {.fd = socket, .events = POLLIN};
        int ready = poll(&entry, 1, milliseconds);
        if (ready == 0) {
            errno = EAGAIN;
            return -1;
        }
        if (ready < 0) {
            if (errno == EINTR) {
                errno = EAGAIN; /* the caller checks for cancellation */
            }
            return -1;
        }
        message.msg_controllen = control_room;
        count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (count >= 0) {
            break;
        }
        /* The peer ended without reading everything. */
        if (errno == ECONNRESET) {
            return 0;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return -1;
        }
    }
    const uint32_t room = *descriptor_count;
    *descriptor_count = 0;
    uint32_t received = 0;
    for (struct cmsghdr *entry = CMSG_FIRSTHDR(&message); entry; entry = CMSG_NXTHDR(&message, entry)) {
        if (entry->cmsg_level == SOL_SOCKET && entry->cmsg_type == SCM_RIGHTS) {
            uint32_t n = (uint32_t)((entry->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            for (uint32_t i = 0; i < n && received < room; i++) {
                memcpy(&descriptors[received++], CMSG_DATA(entry) + i * sizeof(int), sizeof(int));
            }
        }
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (uint32_t i = 0; i < received; i++) {
            close(descriptors[i]);
        }
        errno = EMSGSIZE;
        return -1;
    }
    *descriptor_count = received;
    return count;
}

int host_shared_memory(const char *name, uint64_t count, int is_open) {
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (descriptor < 0 && errno == EINVAL) {
        descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (descriptor < 0) {
        return -1;
    }
    if (count > INT64_MAX || ftruncate(descriptor, (off_t)count) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | (is_open ? 0 : F_SEAL_SEAL)) != 0) {
        int problem = errno;
        close(descriptor);
        errno = problem;
        return -1;
    }
    return descriptor;
}

int host_forbid_writing(int descriptor) {
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
}

const char *host_path_of_library(void *handle) {
    struct link_map *map = NULL;
    return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : NULL;
}

void host_store_word(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
uint32_t host_load_word(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
void host_store_long(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
