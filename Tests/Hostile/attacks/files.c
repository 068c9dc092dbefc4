/*
 * files.c - attacks on files: the private key, the folder around it, the input, and device files.
 *
 * The judge compares the folder before and after: names, modes, owners, sizes, change times and contents.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attack.h"

#include <dirent.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/xattr.h>
#include <utime.h>

/* ---- attributes ---- */

int chmod_key(void) { return syscall(SYS_fchmodat, AT_FDCWD, in_place("key"), 0666), 0; }
int chmod_setuid(void) { return syscall(SYS_fchmodat, AT_FDCWD, in_place("tool"), 04755), 0; }
int fchmodat2_key(void) { return syscall(CALL_FCHMODAT2, AT_FDCWD, in_place("key"), 0666, 0), 0; }
int chown_key(void) { return syscall(SYS_fchownat, AT_FDCWD, in_place("key"), 12345, 12345, 0), 0; }
int set_xattr(void) { return setxattr(in_place("key"), "user.hostile", "1", 1, 0), 0; }
int remove_xattr(void) { return removexattr(in_place("tool"), "user.mark"), 0; }

/* The arguments of setxattrat(2), Linux 6.13. */
struct xattr_arguments {
    uint64_t value;
    uint32_t size;
    uint32_t flags;
};
int set_xattr_at(void) {
    struct xattr_arguments arguments = {(uint64_t)(uintptr_t) "1", 1, 0};
    return syscall(CALL_SETXATTRAT, AT_FDCWD, in_place("key"), 0, "user.hostile", &arguments, sizeof arguments), 0;
}

/* Entries of an ACL as the kernel stores them: tag, permissions, number. A user namespace has no other user. */
int set_acl(void) {
    static const uint8_t acl[] = {2, 0, 0, 0,                       /* version 2      */
                                  1, 0, 6, 0, 255, 255, 255, 255,   /* the owner: rw- */
                                  4, 0, 6, 0, 255, 255, 255, 255,   /* the group: rw- */
                                  32, 0, 6, 0, 255, 255, 255, 255}; /* others: rw-    */
    return setxattr(in_place("key"), "system.posix_acl_access", acl, sizeof acl, 0), 0;
}

int set_times(void) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    return syscall(SYS_utimensat, AT_FDCWD, in_place("key"), times, 0), 0;
}
int set_times_old(void) {
    struct utimbuf times = {1, 1};
    return utime(in_place("key"), &times), 0;
}

/* struct file_attr of Linux 6.17: the flag FS_XFLAG_NODUMP. */
int set_file_flags(void) {
    struct {
        uint64_t xflags;
        uint32_t extsize, nextents, projid, cowextsize;
    } attributes = {.xflags = 0x80};
    return syscall(CALL_FILE_SETATTR, AT_FDCWD, in_place("key"), &attributes, sizeof attributes, 0), 0;
}

/* Descriptors 0 to 2 are the system's null device, so a changed mode would affect every program. Sets the same mode. */
int chmod_null(void) {
    struct stat status;
    for (int i = 0; i < 3; i++) {
        if (fstat(i, &status) == 0 && S_ISCHR(status.st_mode) && syscall(SYS_fchmod, i, status.st_mode & 0777) == 0)
            return 1;
    }
    return 0;
}
int set_times_of_null(void) {
    struct stat status;
    for (int i = 0; i < 3; i++) {
        if (fstat(i, &status) == 0 && S_ISCHR(status.st_mode) && syscall(SYS_utimensat, i, NULL, NULL, 0) == 0)
            return 1;
    }
    return 0;
}

/* ---- contents and names ---- */

static int holds_secret(int descriptor) {
    char    text[256] = "";
    ssize_t count = descriptor >= 0 ? read(descriptor, text, sizeof text - 1) : -1;
    if (descriptor >= 0) close(descriptor);
    return count > 0 && strstr(text, "key's secret") != NULL;
}

int read_key(void) { return holds_secret((int)syscall(SYS_openat, AT_FDCWD, in_place("key"), O_RDONLY)); }
int read_key_openat2(void) {
    uint64_t how[3] = {O_RDONLY, 0, 0};
    return holds_secret((int)syscall(CALL_OPENAT2, AT_FDCWD, in_place("key"), how, sizeof how));
}
int read_key_by_root(void) {
    static const char *const roots[] = {"/proc/self/root", "/proc/1/root", "/proc/thread-self/root", "/.."};
    char path[600];
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        snprintf(path, sizeof path, "%s%s", roots[i], in_place("key"));
        if (holds_secret(open(path, O_RDONLY))) return 1;
    }
    return 0;
}
/* With a folder's descriptor, files below and above it can be opened. */
int read_key_by_descriptor(void) {
    char path[600];
    snprintf(path, sizeof path, "../../../../../../../..%s", in_place("key"));
    for (int i = 0; i < 64; i++) {
        if (holds_secret((int)syscall(SYS_openat, i, path, O_RDONLY))) return 1;
    }
    return 0;
}
int read_key_by_handle(void) {
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + 128];
    } file = {.handle = {.handle_bytes = 128}};
    int mount = 0;
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, in_place("key"), &file, &mount, 0) != 0) return 0;
    for (int i = 0; i < 64; i++) {
        if (holds_secret((int)syscall(SYS_open_by_handle_at, i ? i : AT_FDCWD, &file, O_RDONLY))) return 1;
    }
    return 0;
}
int list_folder(void) {
    DIR *folder = opendir(choice.place);
    int  found = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) found |= strcmp(entry->d_name, "key") == 0;
    if (folder) closedir(folder);
    return found;
}
int see_key(void) {
    struct stat status;
    return syscall(SYS_newfstatat, AT_FDCWD, in_place("key"), &status, 0) == 0 && status.st_size > 0;
}
int see_key_statx(void) {
    struct statx status;
    return syscall(SYS_statx, AT_FDCWD, in_place("key"), 0, STATX_ALL, &status) == 0;
}
int access_key(void) { return syscall(SYS_faccessat, AT_FDCWD, in_place("key"), F_OK) == 0; }
int read_link(void) {
    char path[64];
    return syscall(SYS_readlinkat, AT_FDCWD, in_place("link"), path, sizeof path) > 0;
}
int read_xattr(void) {
    char value[64];
    return getxattr(in_place("tool"), "user.mark", value, sizeof value) > 0;
}

int write_key(void) {
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, in_place("key"), O_WRONLY);
    return descriptor >= 0 && write(descriptor, "!", 1) == 1;
}
int truncate_key(void) { return syscall(SYS_truncate, in_place("key"), 1L), 0; }
int create_file(void) { return syscall(SYS_openat, AT_FDCWD, in_place("new"), O_CREAT | O_WRONLY, 0600), 0; }
int create_unnamed(void) {
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, choice.place, O_TMPFILE | O_RDWR, 0600);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return descriptor >= 0 && linkat(AT_FDCWD, path, AT_FDCWD, in_place("new"), AT_SYMLINK_FOLLOW) == 0;
}
int remove_key(void) { return syscall(SYS_unlinkat, AT_FDCWD, in_place("key"), 0), 0; }
int make_folder(void) { return syscall(SYS_mkdirat, AT_FDCWD, in_place("new"), 0700), 0; }
int make_link(void) { return syscall(SYS_symlinkat, "/etc/passwd", AT_FDCWD, in_place("new")), 0; }
int make_pipe_file(void) { return syscall(SYS_mknodat, AT_FDCWD, in_place("new"), S_IFIFO | 0600, 0), 0; }

static char other[512];
static const char *other_path(void) {
    snprintf(other, sizeof other, "%s", in_place("new"));
    return other;
}
int rename_key(void) {
    const char *to = other_path();
    return syscall(SYS_renameat2, AT_FDCWD, in_place("key"), AT_FDCWD, to, 0), 0;
}
int link_key(void) {
    const char *to = other_path();
    return syscall(SYS_linkat, AT_FDCWD, in_place("key"), AT_FDCWD, to, 0), 0;
}

/* ---- watching ---- */

int watch_folder(void) {
    int descriptor = (int)syscall(SYS_inotify_init1, IN_NONBLOCK);
    return descriptor >= 0 && inotify_add_watch(descriptor, choice.place, IN_ALL_EVENTS) >= 0;
}
int watch_everything(void) {
    int descriptor = (int)syscall(SYS_fanotify_init, FAN_CLASS_NOTIF, O_RDONLY);
    return descriptor >= 0 &&
           syscall(SYS_fanotify_mark, descriptor, FAN_MARK_ADD, (uint64_t)FAN_OPEN, AT_FDCWD, choice.place) == 0;
}

/* ---- the input, which the host opened for reading ---- */

/* Reopens every descriptor for writing. */
int reopen_input(void) {
    char path[64];
    for (int i = 0; i < 64; i++) {
        struct stat status;
        if (fstat(i, &status) != 0 || !S_ISREG(status.st_mode)) continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        int descriptor = open(path, O_RDWR);
        if (descriptor >= 0 && pwrite(descriptor, "?", 1, 20) == 1) return 1;
    }
    return 0;
}
int write_input(void) {
    for (int i = 0; i < 64; i++) {
        struct stat status;
        if (fstat(i, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0) continue;
        if (write(i, "?", 1) == 1) return 1;
    }
    return 0;
}
int chmod_input(void) {
    for (int i = 0; i < 64; i++) {
        struct stat status;
        if (fstat(i, &status) == 0 && S_ISREG(status.st_mode)) syscall(SYS_fchmod, i, 0666);
    }
    return 0;
}
/* Makes the memory of the input writable; the host reads the same pages. */
int write_input_memory(void) {
    const uint8_t *bytes = scene.source->bytes;
    if (!bytes) return 0;
    void *page = (void *)((uintptr_t)bytes & ~(uintptr_t)4095);
    if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0) return 0;
    ((volatile uint8_t *)(uintptr_t)bytes)[20] ^= 0xff;
    return 0;
}

/* ---- the file system ---- */

int change_root(void) { return syscall(SYS_chroot, choice.place) == 0; }
int mount_over(void) { return syscall(SYS_mount, "none", choice.place, "tmpfs", 0L, NULL) == 0; }
int open_tree(void) {
    return syscall(CALL_OPEN_TREE, AT_FDCWD, "/", 1L /* OPEN_TREE_CLONE */) >= 0 ||
           syscall(CALL_OPEN_TREE_ATTR, AT_FDCWD, "/", 1L, NULL, 0L) >= 0 || syscall(CALL_FSOPEN, "tmpfs", 0L) >= 0;
}
int dump_core(void) {
    unsigned long limits[2] = {~0UL, ~0UL};
    syscall(SYS_prlimit64, 0, 4 /* RLIMIT_CORE */, limits, NULL);
    abort();
}
