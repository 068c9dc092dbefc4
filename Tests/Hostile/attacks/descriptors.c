/*
 * descriptors.c - attacks by descriptors: channels from one image to the next, and foreign descriptors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

/* ---- channels: the constructor creates one, the first image writes, the second reads ---- */

static void put_at(int descriptor, int number) {
    if (descriptor >= 0) syscall(SYS_dup3, descriptor, number, 0);
}
/* Returns at once. */
static int can_read(int descriptor) {
    char          byte;
    struct pollfd entry = {descriptor, POLLIN, 0};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) && read(descriptor, &byte, 1) == 1;
}
/* A worker keeps only descriptors 0 to 2; the third pair detects a worker that keeps more. */
int leak_pipe(void) {
    int ends[2];
    if (scene.stage == AT_LOAD) {
        if (syscall(SYS_pipe2, ends, O_NONBLOCK) == 0) {
            put_at(ends[0], 0);
            put_at(ends[1], 1);
            put_at(ends[0], 60);
            put_at(ends[1], 61);
        }
        return 0;
    }
    if (scene.is_second) return can_read(0) || can_read(60);
    return (write(1, "x", 1) + write(61, "x", 1)) * 0;
}
int leak_offset(void) {
    if (scene.stage == AT_LOAD) {
        put_at((int)syscall(SYS_memfd_create, "offset", 0), 2);
        return 0;
    }
    if (scene.is_second) return lseek(2, 0, SEEK_CUR) == 4242;
    return lseek(2, 4242, SEEK_SET) * 0;
}
int leak_event(void) {
    uint64_t value = 1;
    if (scene.stage == AT_LOAD) {
        put_at(eventfd(0, EFD_NONBLOCK), 0);
        return 0;
    }
    if (scene.is_second) return read(0, &value, sizeof value) == sizeof value;
    return write(0, &value, sizeof value) * 0;
}
int leak_timer(void) {
    struct itimerspec time = {{0, 0}, {3600, 0}}, found = {{0, 0}, {0, 0}};
    if (scene.stage == AT_LOAD) {
        put_at(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), 0);
        return 0;
    }
    if (scene.is_second) return timerfd_gettime(0, &found) == 0 && found.it_value.tv_sec > 0;
    return timerfd_settime(0, 0, &time, NULL) * 0;
}
int leak_epoll(void) {
    struct epoll_event event = {.events = EPOLLIN};
    if (scene.stage == AT_LOAD) {
        put_at(eventfd(0, EFD_NONBLOCK), 0);
        put_at(epoll_create1(0), 2);
        return 0;
    }
    if (scene.is_second) return epoll_ctl(2, EPOLL_CTL_DEL, 0, &event) == 0;
    return epoll_ctl(2, EPOLL_CTL_ADD, 0, &event) * 0;
}
/* The constructor watches a readable folder; workers see when a file there is opened. */
int leak_watch(void) {
    if (scene.stage == AT_LOAD) {
        int descriptor = inotify_init1(IN_NONBLOCK);
        if (descriptor >= 0 && inotify_add_watch(descriptor, "/usr/lib", IN_ALL_EVENTS) >= 0) put_at(descriptor, 0);
        return 0;
    }
    char room[512];
    int  waiting = 0;
    return ioctl(0, FIONREAD, &waiting) == 0 || read(0, room, sizeof room) > 0;
}
int leak_signal(void) {
    sigset_t all;
    sigfillset(&all);
    if (scene.stage == AT_LOAD) {
        put_at(signalfd(-1, &all, SFD_NONBLOCK), 0);
        return 0;
    }
    struct signalfd_siginfo info;
    return scene.is_second ? read(0, &info, sizeof info) == sizeof info : 0;
}
/* Flags belong to the open file, which all workers share. */
int leak_flags(void) {
    if (scene.stage == AT_LOAD) return 0;
    if (scene.is_second) return fcntl(0, F_GETFL) >= 0 && (fcntl(0, F_GETFL) & O_NONBLOCK) != 0;
    return fcntl(0, F_SETFL, O_NONBLOCK | O_APPEND) * 0;
}
/* The signal owner of an open file is a number that every process with the file can read. */
int leak_owner(void) {
    if (scene.stage == AT_LOAD) return 0;
    if (scene.is_second) return fcntl(0, F_GETSIG) == SIGUSR1;
    return fcntl(0, F_SETSIG, SIGUSR1) * 0;
}
int leak_lock(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 7, .l_len = 1};
    if (scene.stage == AT_LOAD) {
        put_at((int)syscall(SYS_memfd_create, "lock", 0), 0);
        return 0;
    }
    if (scene.is_second) return fcntl(0, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    return fcntl(0, 37 /* F_OFD_SETLK */, &lock) * 0;
}
/* A process that remains between two images passes data from the first to the second. */
int leak_by_process(void) {
    int to[2], from[2];
    if (scene.stage != AT_LOAD) {
        if (!scene.is_second) return write(1, "x", 1) * 0 + (wait_milliseconds(50), 0);
        wait_milliseconds(50);
        return can_read(0);
    }
    if (syscall(SYS_pipe2, to, 0) != 0 || syscall(SYS_pipe2, from, O_NONBLOCK) != 0) return 0;
    if (fork_as_the_worker() == 0) {
        char byte;
        while (read(to[0], &byte, 1) == 1) {
            if (write(from[1], &byte, 1) < 0) break;
        }
        _exit(0);
    }
    put_at(from[0], 0);
    put_at(to[1], 1);
    return 0;
}

/* ---- open descriptors ---- */

/*
 * A worker has 0 to 2 (the null device), its socket, and the input and the pixels of the current request. Any other
 * descriptor is a leak.
 */
int find_descriptor(void) {
    int strange = 0;
    for (int i = 0; i < 1024; i++) {
        struct stat status;
        if (fstat(i, &status) != 0) continue;
        int is_null = S_ISCHR(status.st_mode) && status.st_rdev == 0x103;
        int is_expected = i < 3 ? is_null : i == 3 ? S_ISSOCK(status.st_mode) : S_ISREG(status.st_mode);
        strange |= !is_expected;
    }
    return strange;
}
/* The descriptors that the constructor put at 0 to 2 must be replaced. */
int replace_standard(void) {
    if (scene.stage == AT_LOAD) {
        int ends[2];
        if (syscall(SYS_pipe2, ends, 0) == 0) {
            for (int i = 0; i < 3; i++) put_at(ends[0], i);
            for (int i = 50; i < 60; i++) put_at(ends[1], i);
        }
        for (int i = 0; i < 3; i++) put_at(3, i + 40);
        return 0;
    }
    return find_descriptor();
}
int write_output(void) {
    for (int i = 0; i < 3; i++) {
        if (write(i, "HOSTILE OUTPUT\n", 15) < 0) continue;
    }
    return 0;
}
int fill_pipes(void) {
    int ends[2];
    for (int i = 0; i < 16; i++) {
        if (syscall(SYS_pipe2, ends, O_NONBLOCK) == 0 && fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) >= 1 << 20) return 1;
    }
    return 0;
}
/* Pages given to a pipe stay writable. */
int give_pages(void) {
    int ends[2];
    static char page[4096] __attribute__((aligned(4096)));
    struct iovec part = {page, sizeof page};
    return syscall(SYS_pipe2, ends, O_NONBLOCK) == 0 && syscall(SYS_vmsplice, ends[1], &part, 1, 8 /* GIFT */) > 0;
}
int move_input(void) {
    for (int i = 3; i < 64; i++) lseek(i, INT32_MAX, SEEK_SET);
    return 0;
}
/* Reads the host's packets to the process. */
int steal_packets(void) {
    char          room[4096];
    struct iovec  part = {room, sizeof room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    for (int i = 0; i < 4; i++) recvmsg(3, &message, MSG_DONTWAIT);
    return 0;
}
/* The host's process, as the kernel reports the peer of the socket. */
int peer_descriptor(void) {
    int       descriptor = -1;
    socklen_t size = sizeof descriptor;
    return getsockopt(3, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &descriptor, &size) == 0;
}
int peer_number(void) {
    struct ucred peer = {0, 0, 0};
    socklen_t    size = sizeof peer;
    return getsockopt(3, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0;
}
int pass_credentials(void) {
    int one = 1;
    return setsockopt(3, SOL_SOCKET, 76 /* SO_PASSPIDFD */, &one, sizeof one) == 0 ||
           setsockopt(3, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) == 0;
}
int grow_socket(void) {
    int bytes = 64 << 20;
    return setsockopt(3, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) == 0;
}
