#define _GNU_SOURCE
#include "descriptors.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "calls.h"

void close_from(int first) {
    if (syscall(__NR_close_range, first, UINT_MAX, 0) == 0) {
        return;
    }
    /* Before Linux 5.9. */
    struct rlimit limit;
    long end = 1 << 16;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)end) {
        end = (long)limit.rlim_cur;
    }
    for (long descriptor = first; descriptor < end; descriptor++) {
        close((int)descriptor);
    }
}

int is_packet_socket(int descriptor) {
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}
