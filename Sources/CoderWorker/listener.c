#define _GNU_SOURCE
#include "listener.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calls.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE /* Linux 5.5 */
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* The kernel's structs may be longer than those in the headers. */
static union {
    struct seccomp_notif head;
    char room[1024];
} question;
static union {
    struct seccomp_notif_resp head;
    char room[1024];
} reply;
static struct seccomp_notif_sizes sizes;

int listener_begin(int descriptor) {
    if (syscall(__NR_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) {
        return errno;
    }
    if (sizes.seccomp_notif > sizeof question || sizes.seccomp_notif_resp > sizeof reply) {
        return E2BIG;
    }
    /* Only one of the two processes runs at a time, so one processor is faster. Older kernels ignore this. */
    ioctl(descriptor, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return 0;
}

const listener_call *listener_receive(int descriptor) {
    static listener_call call;
    memset(&question, 0, sizeof question);
    /* The caller may have ended, or a signal interrupted it; it then calls again. */
    if (ioctl(descriptor, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
        return NULL;
    }
    call = (listener_call){question.head.data.nr, question.head.data.args[0], (pid_t)question.head.pid};
    return &call;
}

void listener_answer(int descriptor, int error) {
    memset(&reply, 0, sizeof reply);
    reply.head.id = question.head.id;
    reply.head.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    reply.head.error = -error;
    ioctl(descriptor, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}
