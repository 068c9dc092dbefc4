/*
 * world.c - the targets of an attack: a folder, the judge's sockets, and System V objects.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "judge.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>

static int fail(const char *what) {
    perror(what);
    return -1;
}

/* ---- sockets on loopback ---- */

static int  tcp = -1, udp = -1, abstract = -1, tcp_port, udp_port;
static char abstract_name[64];

/* The process number separates the objects of judges that run in parallel. */
static int object_key(void) { return 0x68000000 | (int)getpid(); }

static int listen_at(int type, int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t          size = sizeof address;
    int                s = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&address, size) != 0) return fail("a socket on loopback");
    if (type == SOCK_STREAM && listen(s, 64) != 0) return fail("a listener on loopback");
    getsockname(s, (struct sockaddr *)&address, &size);
    *port = ntohs(address.sin_port);
    return s;
}

static int listen_locally(const char *path, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t          length = sizeof address;
    if (path) {
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    } else {
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
        length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    }
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&address, length) != 0 || listen(s, 64) != 0)
        return fail("a listener at a path");
    return s;
}

static int open_sockets(void) {
    if (tcp >= 0) return 0;
    snprintf(abstract_name, sizeof abstract_name, "coderhost-hostile-%d", (int)getpid());
    tcp = listen_at(SOCK_STREAM, &tcp_port);
    udp = listen_at(SOCK_DGRAM, &udp_port);
    abstract = listen_locally(NULL, abstract_name);
    return tcp < 0 || udp < 0 || abstract < 0 ? -1 : 0;
}

static void inspect_listener(int s, const char *name, evidence *found) {
    int one;
    while ((one = accept4(s, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        notice(found, "connection to %s", name);
        close(one);
    }
}

/* ---- the folder ---- */

static int put(const world *w, const char *name, const char *text, size_t length, int permissions) {
    char path[320];
    snprintf(path, sizeof path, "%s/%s", w->root, name);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, text, length) != (ssize_t)length) return fail(path);
    if (fchmod(file, (mode_t)permissions) != 0 || fchown(file, (uid_t)w->user, (gid_t)w->user) != 0) return fail(path);
    close(file);
    return 0;
}

static int folder(const world *w, const char *name, int permissions) {
    char path[320];
    snprintf(path, sizeof path, "%s/%s", w->root, name);
    if (mkdir(path, 0700) != 0 || chmod(path, (mode_t)permissions) != 0 ||
        chown(path, (uid_t)w->user, (gid_t)w->user) != 0)
        return fail(path);
    return 0;
}

/* Lists names, attributes and contents below a folder, one line each. Change times also reveal attributes. */
static size_t describe(const char *path, char *text, size_t room) {
    size_t          length = 0;
    struct dirent **names = NULL;
    int             count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char        file[600];
        struct stat s;
        uint64_t    hash = UINT64_C(1469598103934665603);
        snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
        int is_above = strcmp(names[i]->d_name, "..") == 0;
        free(names[i]);
        if (is_above || lstat(file, &s) != 0) continue;
        int input = S_ISREG(s.st_mode) ? open(file, O_RDONLY | O_CLOEXEC | O_NOATIME | O_NOFOLLOW) : -1;
        unsigned char block[4096];
        for (ssize_t got; input >= 0 && (got = read(input, block, sizeof block)) > 0;) {
            for (ssize_t at = 0; at < got; at++) hash = (hash ^ block[at]) * UINT64_C(1099511628211);
        }
        if (input >= 0) close(input);
        int line = snprintf(text + length, room - length, "%s mode %o of %u:%u, %lld bytes, %lu names, changed %lld.%09ld, %llx\n",
                            file, s.st_mode, s.st_uid, s.st_gid, (long long)s.st_size, (unsigned long)s.st_nlink,
                            (long long)s.st_ctim.tv_sec, s.st_ctim.tv_nsec, (unsigned long long)hash);
        if (line < 0 || (size_t)line >= room - length) break;
        length += (size_t)line;
    }
    free(names);
    return length;
}

static void describe_all(const world *w, char *text, size_t room) {
    static const char *const folders[] = {"private", "in", "plugins"};
    size_t                   length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char path[320];
        snprintf(path, sizeof path, "%s/%s", w->root, folders[i]);
        length += describe(path, text + length, room - length);
    }
}

int world_make(world *w, int user) {
    static const char header[] = "flt!\0\4\0\1\3";
    memset(w, 0, sizeof *w);
    w->user = user;
    w->socket = -1;
    snprintf(w->root, sizeof w->root, "/tmp/coderhost-hostile-XXXXXX");
    if (open_sockets() != 0 || !mkdtemp(w->root)) return fail("a temporary folder");
    snprintf(w->place, sizeof w->place, "%s/private", w->root);
    if (chmod(w->root, 0755) != 0 || chown(w->root, (uid_t)user, (gid_t)user) != 0) return fail(w->root);
    if (folder(w, "private", 0700) || folder(w, "in", 0755) || folder(w, "out", 0755) || folder(w, "home", 0700) ||
        folder(w, "plugins", 0755))
        return -1;
    char image[21];
    for (int i = 0; i < IMAGE_COUNT; i++) {
        char name[64];
        memcpy(image, header, 9);
        memset(image + 9, 'A' + i, 12);
        snprintf(name, sizeof name, "in/private-name-%d.flt", i + 1);
        if (put(w, name, image, sizeof image, 0644) != 0) return -1;
    }
    if (put(w, "private/key", KEY_SECRET "\n", sizeof KEY_SECRET, 0600) != 0 ||
        put(w, "private/tool", "#!/bin/true\n", 12, 0755) != 0)
        return -1;
    char path[320];
    snprintf(path, sizeof path, "%s/tool", w->place);
    if (setxattr(path, "user.mark", "1", 1, 0) != 0) fail("an extended attribute, so one attack proves less");
    snprintf(path, sizeof path, "%s/link", w->place);
    if (symlink("key", path) != 0 || lchown(path, (uid_t)user, (gid_t)user) != 0) return fail(path);
    snprintf(path, sizeof path, "%s/socket", w->place);
    w->socket = listen_locally(path, NULL);
    if (w->socket < 0 || chown(path, (uid_t)user, (gid_t)user) != 0) return fail(path);
    return 0;
}

/* Writes the plugin with its orders, and records the state of all targets. */
int world_arm(world *w, const attack *a, int stage) {
    static unsigned char *bytes;
    static size_t         length;
    if (!bytes) {
        FILE *file = fopen(given.plugin, "rb");
        if (!file || fseek(file, 0, SEEK_END) != 0) return fail(given.plugin);
        length = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(length);
        if (!bytes || fread(bytes, 1, length, file) != length) return fail(given.plugin);
        fclose(file);
    }
    unsigned char *place = memmem(bytes, length, CHOICE_MARK, sizeof CHOICE_MARK);
    if (!place || (size_t)(bytes + length - place) < sizeof(struct choice)) return fail("no choice in the plugin");
    struct choice c = {.mark = CHOICE_MARK, .stage = stage, .tcp_port = tcp_port, .udp_port = udp_port,
                       .object_key = object_key()};
    snprintf(c.attack, sizeof c.attack, "%s", a->name);
    snprintf(c.place, sizeof c.place, "%s", w->place);
    snprintf(c.abstract_name, sizeof c.abstract_name, "%s", abstract_name);
    c.canary_address = (uint64_t)(uintptr_t)canary_secret;
    c.canary = canary_of(w->user);
    memcpy(place, &c, sizeof c);
    if (c.canary <= 0 || put(w, "plugins/libcoder-hostile.so", (char *)bytes, length, 0755) != 0) return -1;
    describe_all(w, w->before, sizeof w->before);
    return 0;
}

/* ---- afterwards ---- */

static void inspect_objects(evidence *found) {
    int number;
    if ((number = shmget(object_key(), 0, 0)) >= 0 && shmctl(number, IPC_RMID, NULL) == 0) notice(found, "a shared segment is left");
    if ((number = semget(object_key(), 0, 0)) >= 0 && semctl(number, 0, IPC_RMID) == 0) notice(found, "a semaphore is left");
    if ((number = msgget(object_key(), 0)) >= 0 && msgctl(number, IPC_RMID, NULL) == 0) notice(found, "a queue is left");
    if (syscall(SYS_mq_unlink, abstract_name) == 0) notice(found, "a POSIX queue is left");
}

/* The first new line; that of a folder only if no file below it has changed. */
static const char *find_change(const char *before, const char *after) {
    const char *folder_line = NULL;
    for (const char *line = after; *line;) {
        const char *end = strchr(line, '\n');
        if (!end) break;
        if (!memmem(before, strlen(before), line, (size_t)(end - line) + 1)) {
            const char *name_end = strstr(line, " mode ");
            if (!name_end || strncmp(name_end - 2, "/.", 2) != 0) return line;
            folder_line = folder_line ? folder_line : line;
        }
        line = end + 1;
    }
    return folder_line;
}

static int count_of_lines(const char *text) {
    int count = 0;
    for (; *text; text++) count += *text == '\n';
    return count;
}

void world_inspect(world *w, evidence *found) {
    static char after[sizeof w->before];
    describe_all(w, after, sizeof after);
    const char *change = find_change(w->before, after);
    const char *end = change ? strstr(change, ", changed") : NULL;
    if (end) notice(found, "%.*s", (int)(end - change - (long)strlen(w->root) - 1), change + strlen(w->root) + 1);
    if (count_of_lines(after) < count_of_lines(w->before)) notice(found, "a file is missing");
    inspect_listener(tcp, "TCP", found);
    inspect_listener(abstract, "the abstract socket", found);
    inspect_listener(w->socket, "the socket in the private folder", found);
    char byte;
    while (recv(udp, &byte, 1, MSG_DONTWAIT) >= 0) notice(found, "a datagram");
    inspect_objects(found);
}

static void remove_tree(const char *path) {
    if (unlink(path) == 0) return;
    DIR *all = opendir(path);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char below[700];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        remove_tree(below);
    }
    if (all) closedir(all);
    rmdir(path);
}

void world_remove(world *w) {
    if (w->socket >= 0) close(w->socket);
    if (strncmp(w->root, "/tmp/coderhost-hostile-", 23) == 0) remove_tree(w->root);
}
