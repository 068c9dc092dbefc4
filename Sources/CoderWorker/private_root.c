#define _GNU_SOURCE
#include "private_root.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "confinement.h"
#include "worker_exit.h"

/* include/uapi/linux/mount.h, in versions that the build machine may lack; since Linux 5.12. */
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x4
#endif
#define CONFIG_SET_STRING 1
#define CONFIG_CREATE     6
#define READ_ONLY 0x1
#define NO_SUID   0x2
#define NO_DEV    0x4
struct attributes {
    uint64_t set, clear, propagation, user_namespace;
};

/* The places to attach the new file system before it becomes the root. */
static const char *const places[] = {"/usr", "/lib", "/tmp", "/etc"};
#define PLACE_COUNT (sizeof places / sizeof places[0])

/* Creates a file system in memory; returns its descriptor, or -1 with errno. */
static int make_root(void) {
    int context = (int)syscall(__NR_fsopen, "tmpfs", 1 /* close on exec */);
    if (context < 0) {
        return -1;
    }
    int root = -1;
    if (syscall(__NR_fsconfig, context, CONFIG_SET_STRING, "size", "1m", 0) == 0 &&
        syscall(__NR_fsconfig, context, CONFIG_CREATE, NULL, NULL, 0) == 0) {
        root = (int)syscall(__NR_fsmount, context, 1, NO_SUID | NO_DEV);
    }
    int failure = errno;
    close(context);
    errno = failure;
    return root;
}

/* Creates the folders of a path below the root, ending in a folder or a file; 0, or -1 with errno. */
static int make_place(int root, const char *path, int is_folder) {
    char part[4096];
    size_t length = strlen(path);
    if (length >= sizeof part) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && path[end] != '\0') {
            continue;
        }
        memcpy(part, path + 1, end - 1);
        part[end - 1] = '\0';
        int is_last = path[end] == '\0';
        int made = is_last && !is_folder ? openat(root, part, O_CREAT | O_RDONLY | O_CLOEXEC, 0444)
                                         : mkdirat(root, part, 0755);
        if (made < 0 && errno != EEXIST) {
            return -1;
        }
        if (made > 0) {
            close(made);
        }
    }
    return 0;
}

/* Mounts the copied `tree` at `path`; 0, or -1 with errno. */
static int show(int root, const char *path, int tree) {
    struct stat there;
    struct stat wanted;
    struct attributes attributes = {.set = READ_ONLY | NO_SUID | NO_DEV};
    if (fstat(tree, &wanted) != 0) {
        return -1;
    }
    /* Already visible below a mounted folder. */
    if (fstatat(root, path + 1, &there, 0) == 0 && there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino) {
        return 0;
    }
    return make_place(root, path, S_ISDIR(wanted.st_mode)) == 0 &&
                   syscall(__NR_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0 &&
                   syscall(__NR_move_mount, tree, "", root, path + 1, MOVE_MOUNT_F_EMPTY_PATH) == 0
               ? 0
               : -1;
}

#define TREE_LIMIT 600 /* the host names at most 512 paths */
static struct {
    const char *path;
    int         tree;
} shown[TREE_LIMIT];
static size_t shown_count;

/* Skips missing paths, and paths that are not absolute. */
static void take(const char *path) {
    if (path[0] != '/' || path[1] == '\0') {
        return;
    }
    if (shown_count == TREE_LIMIT) {
        worker_exit(EXIT_RESOURCES);
    }
    int tree = (int)syscall(__NR_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | O_CLOEXEC);
    if (tree < 0 && errno == EINVAL) {
        /* Mounts below it cannot be separated from it. */
        tree = (int)syscall(__NR_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | AT_RECURSIVE | O_CLOEXEC);
    }
    if (tree < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        /* Without them, libraries of the plugin would seem to be missing. */
        worker_exit(EXIT_RESOURCES);
    }
    if (tree >= 0) {
        shown[shown_count].path = path;
        shown[shown_count++].tree = tree;
    }
}

static int fill(int root) {
    for (size_t i = 0; i < shown_count; i++) {
        if (show(root, shown[i].path, shown[i].tree) != 0) {
            return -1;
        }
    }
    struct attributes attributes = {.set = READ_ONLY};
    return (int)syscall(__NR_mount_setattr, root, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

/* Replaces the old root by the new one; 0, or -1 with errno and no change. */
static int enter(int root) {
    const char *place = NULL;
    for (size_t i = 0; i < PLACE_COUNT && !place; i++) {
        if (syscall(__NR_move_mount, root, "", AT_FDCWD, places[i], MOVE_MOUNT_F_EMPTY_PATH) == 0) {
            place = places[i];
        }
    }
    if (!place) {
        return -1;
    }
    /* pivot_root with one folder for both puts the old root on top of the new one. */
    if (fill(root) != 0 || fchdir(root) != 0 || syscall(__NR_pivot_root, ".", ".") != 0) {
        int failure = errno;
        int result = chdir("/");
        umount2(place, MNT_DETACH);
        errno = result == 0 ? failure : errno;
        return -1;
    }
    return umount2(".", MNT_DETACH) == 0 && chdir("/") == 0 ? 0 : -1;
}

void private_root(const char *folders, size_t length, const char *path) {
    int32_t *state = &confinement.state[ISO_PRIVATE_ROOT];
    if (confinement.state[ISO_MOUNT_NAMESPACE] != ISO_IN_FORCE) {
        *state = confinement.state[ISO_MOUNT_NAMESPACE];
        return;
    }
    /* Another mount namespace, because the guardian needs its view of /proc. */
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        *state = errno;
        return;
    }
    for (const char *at = folders; at < folders + length; at += strlen(at) + 1) {
        take(at);
    }
    take("/etc/ld.so.cache");
    take(path);
    /* The loader opens the plugin's sealed copy by this name. */
    take("/proc/self/fd");
    int root = make_root();
    *state = root >= 0 && enter(root) == 0 ? ISO_IN_FORCE : errno;
    for (size_t i = 0; i < shown_count; i++) {
        close(shown[i].tree);
    }
    if (root >= 0) {
        close(root);
    }
}
