#define _GNU_SOURCE
#include "host_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U /* since Linux 6.3; older kernels refuse unknown flags with EINVAL */
#endif

const char *host_secure_getenv(const char *name) { return secure_getenv(name); }

int host_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

int host_memfd_executable(const char *name) {
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (descriptor < 0 && errno == EINVAL) {
        descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    return descriptor;
}

int host_seal(int descriptor) {
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

uint64_t host_raise_stack_limit(uint64_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0) {
        return wanted;
    }
    if (limit.rlim_cur < wanted) {
        /* Only a privileged process can raise the hard limit. */
        struct rlimit raised = {wanted, limit.rlim_max < wanted ? wanted : limit.rlim_max};
        if (setrlimit(RLIMIT_STACK, &raised) != 0) {
            raised = (struct rlimit){limit.rlim_max < wanted ? limit.rlim_max : wanted, limit.rlim_max};
            if (setrlimit(RLIMIT_STACK, &raised) != 0) {
                raised = limit;
            }
        }
        limit = raised;
    }
    /* The C library read the limit at process start and uses it as the stack size of every thread. */
    pthread_attr_t attributes;
    size_t size = 0;
    if (limit.rlim_cur != RLIM_INFINITY && pthread_getattr_default_np(&attributes) == 0) {
        if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < limit.rlim_cur &&
            pthread_attr_setstacksize(&attributes, limit.rlim_cur) == 0) {
            pthread_setattr_default_np(&attributes);
        }
        pthread_attr_destroy(&attributes);
    }
    return limit.rlim_cur;
}

int host_start_thread(uint64_t stack, void *(*body)(void *), void *context, unsigned long *thread) {
    pthread_attr_t attributes;
    size_t size = 0;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = pthread_attr_getstacksize(&attributes, &size);
    if (error == 0 && size < stack) {
        error = pthread_attr_setstacksize(&attributes, stack);
    }
    if (error == 0) {
        error = pthread_create(thread, &attributes, body, context);
    }
    pthread_attr_destroy(&attributes);
    return error;
}

int host_inotify(void) { return inotify_init1(IN_NONBLOCK | IN_CLOEXEC); }

int host_inotify_watch(int descriptor, const char *directory) {
    /* A file counts when its writer closes it; IN_CREATE reports links, which are never written. */
    return inotify_add_watch(descriptor, directory,
                             IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
}

int host_create_exclusive(const char *path) { return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); }

int host_create_unnamed(const char *folder) { return open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666); }

int host_create_private_unnamed(const char *folder) { return open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600); }

int host_give_name(int descriptor, const char *path) {
    /* linkat(2): this way needs no privilege. */
    char own[sizeof "/proc/self/fd/-2147483648"];
    snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

int host_rename_exclusive(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (faccessat(AT_FDCWD, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return errno = EEXIST, -1;
    return rename(from, to);
}

int host_lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB); }

int host_open_itself(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); }

static int    argument_count;
static char **arguments;

/* glibc passes main's arguments to constructors. */
__attribute__((constructor)) static void remember_arguments(int count, char **words) {
    argument_count = count;
    arguments      = words;
}

const char *host_argument(int index) { return index >= 0 && index < argument_count ? arguments[index] : NULL; }

const char *host_executable_name(void) { return (const char *)getauxval(AT_EXECFN); }

void host_keep_standard_streams(void) {
    for (int number = 0; number <= 2; number++) {
        if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
        /* open returns the lowest free number, which is this one. Reading 0 and writing 1 and 2 fail. */
        if (open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY) < 0) open("/", O_RDONLY | O_DIRECTORY);
    }
}

int host_open_for_writing(const char *path) { return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY); }

int host_has_attribute(const char *path, const char *name, const char *value) {
    char found[16];
    ssize_t length = getxattr(path, name, found, sizeof found);
    return length >= 0 && (size_t)length == strlen(value) && memcmp(found, value, (size_t)length) == 0;
}

int host_create_private(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int host_open_lock(const char *path) { return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }

int host_open_folder(const char *path) {
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

int host_open_in_folder(int folder, const char *name, int kind) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    if (kind == 2) {
        return openat(folder, name, flags | O_DIRECTORY);
    }
#ifdef RESOLVE_NO_MAGICLINKS
    struct open_how how = {
        .flags = (unsigned)flags,
        .resolve = RESOLVE_NO_MAGICLINKS | (kind == 1 ? RESOLVE_BENEATH : 0),
    };
    int descriptor = (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
    if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM)) {
        return descriptor;
    }
#endif
    /* Without openat2 in kernel or container, a link in the last component counts as leading out. */
    int plain = openat(folder, name, flags | (kind == 1 ? O_NOFOLLOW : 0));
    if (plain < 0 && kind == 1 && errno == ELOOP) {
        errno = EXDEV;
    }
    return plain;
}
