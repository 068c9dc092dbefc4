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
#include "filter.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE /* Linux 5.5 */
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* The system's structs may be longer than the headers'. */
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
    /* The two take turns, so one processor for both is quicker. Older systems do not know that. */
    ioctl(descriptor, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return 0;
}

int listener_answer(int descriptor, int is_sealed) {
    memset(&question, 0, sizeof question);
    /* Who asked may be gone, or called away by a signal; it then asks again. */
    if (ioctl(descriptor, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
        return -1;
    }
    memset(&reply, 0, sizeof reply);
    reply.head.id = question.head.id;
    if (!is_sealed) {
        reply.head.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        reply.head.error = -filter_quiet_error(question.head.data.nr);
        /* Without an answer the call does not come back. */
        if (reply.head.error == 0) {
            return question.head.data.nr;
        }
    }
    ioctl(descriptor, SECCOMP_IOCTL_NOTIF_SEND, &reply);
    return -1;
}
