#define _GNU_SOURCE
#include "worker_driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __NR_pidfd_send_signal
#define __NR_pidfd_send_signal 424
#endif

int driver_pair(int *ends) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : -errno;
}

int driver_start(const char *denier, const char *words, const char *worker, int *control, int *guardian) {
    int ends[2];
    int orders[2];
    if (driver_pair(ends) != 0 || driver_pair(orders) != 0) {
        return -errno;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* Both ends are above 3, so that moving one to 3 closes neither. */
    int host = fcntl(ends[0], F_DUPFD_CLOEXEC, 10);
    int far = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    int order = fcntl(orders[0], F_DUPFD_CLOEXEC, 10);
    int far_order = fcntl(orders[1], F_DUPFD_CLOEXEC, 10);
    for (int i = 0; i < 2; i++) {
        close(ends[i]);
        close(orders[i]);
    }
    for (int i = 0; i < 3; i++) {
        posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    }
    posix_spawn_file_actions_adddup2(&actions, far, ISO_CONTROL_DESCRIPTOR);
    posix_spawn_file_actions_adddup2(&actions, far_order, ISO_GUARDIAN_DESCRIPTOR);
    char *with[] = {(char *)denier, (char *)words, "--", (char *)worker, NULL};
    char *without[] = {(char *)worker, NULL};
    char *nothing[] = {NULL};
    pid_t process = 0;
    int failure = posix_spawn(&process, denier ? denier : worker, &actions, NULL, denier ? with : without, nothing);
    posix_spawn_file_actions_destroy(&actions);
    close(far);
    close(far_order);
    if (failure) {
        close(host);
        close(order);
        return -failure;
    }
    *control = host;
    *guardian = order;
    return process;
}

int driver_memory(const void *bytes, size_t count, size_t capacity, int sealed) {
    int descriptor = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) {
        return -errno;
    }
    if (count > 0 && write(descriptor, bytes, count) != (ssize_t)count) {
        return -EIO;
    }
    if (ftruncate(descriptor, (off_t)capacity) != 0) {
        return -errno;
    }
    int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | (sealed ? F_SEAL_WRITE : 0);
    return fcntl(descriptor, F_ADD_SEALS, seals) == 0 ? descriptor : -errno;
}

static int send_packet(int socket, const iso_header *header, const void *body, const int *descriptors) {
    struct iovec parts[2] = {{(void *)header, sizeof *header}, {(void *)body, header->length}};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * 8)];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (header->descriptors > 0 && header->descriptors <= 8) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * header->descriptors);
        struct cmsghdr *item = CMSG_FIRSTHDR(&message);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof(int) * header->descriptors);
        memcpy(CMSG_DATA(item), descriptors, sizeof(int) * header->descriptors);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int driver_send(int socket, uint16_t type, uint64_t session, uint32_t sequence, const void *body, size_t length,
                const int *descriptors, int count) {
    iso_header header = {.magic = ISO_MAGIC, .version = ISO_VERSION, .type = type, .session = session,
                         .sequence = sequence, .descriptors = (uint32_t)count};
    size_t done = 0;
    do {
        size_t part = length - done < ISO_BODY_LIMIT ? length - done : ISO_BODY_LIMIT;
        header.length = (uint32_t)part;
        header.more = done + part < length;
        int failure = send_packet(socket, &header, (const char *)body + done, descriptors);
        if (failure) {
            return failure;
        }
        header.descriptors = 0;
        done += part;
    } while (done < length);
    return 0;
}

int driver_send_bytes(int socket, const void *bytes, size_t length) {
    return send(socket, bytes, length, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int driver_receive(int socket, iso_header *header, void *body, int *descriptor, int milliseconds) {
    struct pollfd waiting = {.fd = socket, .events = POLLIN};
    int ready;
    do {
        ready = poll(&waiting, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        return -ETIMEDOUT;
    }
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * 8)];
    } control;
    struct iovec parts[2] = {{header, sizeof *header}, {body, ISO_BODY_LIMIT}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    *descriptor = -1;
    if (count <= 0) {
        return count == 0 || errno == ECONNRESET ? 0 : -errno;
    }
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
            memcpy(descriptor, CMSG_DATA(item), sizeof *descriptor);
        }
    }
    int is_whole = !(message.msg_flags & MSG_TRUNC) && count >= (ssize_t)sizeof *header &&
                   header->length == (size_t)count - sizeof *header && header->magic == ISO_MAGIC;
    return is_whole ? 1 : -EPROTO;
}

static void rest(void) {
    struct timespec moment = {0, 2000000};
    nanosleep(&moment, NULL);
}

int driver_wait(int process, int *status, int milliseconds) {
    for (int waited = 0; waited <= milliseconds; waited += 2) {
        if (waitpid(process, status, WNOHANG) == process) {
            return 1;
        }
        rest();
    }
    return 0;
}

int driver_kill(int pidfd, int signal_number) {
    return syscall(__NR_pidfd_send_signal, pidfd, signal_number, NULL, 0) == 0 ? 0 : -errno;
}

int driver_count_session(int session) {
    DIR *folder = opendir("/proc");
    int count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[64];
        char text[512];
        int number = atoi(entry->d_name);
        if (number <= 0) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%d/stat", number);
        int descriptor = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = descriptor >= 0 ? read(descriptor, text, sizeof text - 1) : -1;
        if (descriptor >= 0) {
            close(descriptor);
        }
        if (length <= 0) {
            continue;
        }
        text[length] = '\0';
        /* pid (name) state parent group session; parse after the name, which may hold any characters. */
        const char *behind = strrchr(text, ')');
        char state = 0;
        int parent, group, of = 0;
        if (behind && sscanf(behind + 1, " %c %d %d %d", &state, &parent, &group, &of) == 4 && of == session) {
            count += state != 'Z' && state != 'X';
        }
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

void *driver_map(int descriptor, size_t length) {
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void driver_unmap(void *memory, size_t length) { munmap(memory, length); }

void driver_want_progress(iso_shared *shared) { __atomic_store_n(&shared->progress, 1, __ATOMIC_RELEASE); }
void driver_cancel(iso_shared *shared) { __atomic_store_n(&shared->cancelled, 1, __ATOMIC_RELEASE); }
