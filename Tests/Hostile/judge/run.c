/*
 * run.c - starts the command as a user, measures its resources, and waits until none of its processes is left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "judge.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- the processes of the command ---- */

enum { MOST = 2048 };
static struct {
    pid_t pid, parent;
    int   is_ours;
} processes[MOST];

static pid_t parent_of(pid_t process) {
    char  path[64], text[512] = "", state;
    int   parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    const char *behind = strrchr(text, ')');
    return behind && sscanf(behind + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

/* Finds `root` and its descendants; returns the number of processes in the table. */
static int find_tree(pid_t root) {
    int  count = 0, changed = 1;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && count < MOST && (entry = readdir(folder));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t process = (pid_t)atoi(entry->d_name);
        processes[count].pid = process;
        processes[count].parent = parent_of(process);
        processes[count++].is_ours = process == root;
    }
    if (folder) closedir(folder);
    while (changed) {
        changed = 0;
        for (int i = 0; i < count; i++) {
            for (int j = 0; !processes[i].is_ours && j < count; j++) {
                if (processes[j].is_ours && processes[j].pid == processes[i].parent) processes[i].is_ours = changed = 1;
            }
        }
    }
    return count;
}

static void measure(pid_t host, outcome *most) {
    int  count = find_tree(host), alive = 0, threads = 0;
    long worker = 0, own = 0;
    for (int i = 0; i < count; i++) {
        char path[64], line[256];
        long value, sum = 0;
        int  has = 0;
        if (!processes[i].is_ours) continue;
        snprintf(path, sizeof path, "/proc/%d/status", (int)processes[i].pid);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file)) {
            if (sscanf(line, "RssAnon: %ld", &value) == 1 || sscanf(line, "RssShmem: %ld", &value) == 1 ||
                sscanf(line, "VmPTE: %ld", &value) == 1)
                sum += value;
            if (sscanf(line, "Threads: %ld", &value) == 1) has = (int)value;
        }
        if (file) fclose(file);
        threads += has;
        alive++;
        *(processes[i].pid == host ? &own : &worker) += sum;
    }
    most->processes = alive > most->processes ? alive : most->processes;
    most->threads = threads > most->threads ? threads : most->threads;
    most->worker_mib = worker / 1024 > most->worker_mib ? (int)(worker / 1024) : most->worker_mib;
    most->host_mib = own / 1024 > most->host_mib ? (int)(own / 1024) : most->host_mib;
}

/* The judge adopts orphaned processes. The canary, which has its own session, is a child too. */
static int end_survivors(int canary) {
    int     survivors = 0;
    int64_t end = now() + 1500;
    for (;;) {
        int others = 0;
        int count = find_tree(getpid());
        for (int i = 0; i < count; i++) {
            if (!processes[i].is_ours || processes[i].pid == getpid() || processes[i].pid == canary) continue;
            if (waitpid(processes[i].pid, NULL, WNOHANG) > 0) continue;
            others++;
            if (now() >= end) {
                survivors++;
                kill(processes[i].pid, SIGKILL);
            }
        }
        if (others == 0 || now() > end + 2000) return survivors;
        usleep(10000);
    }
}

/* ---- the command ---- */

static _Noreturn void become_host(const world *w, const attack *a, const mode *m, int output, int terminal) {
    char path[160], plugins[160], outputs[160], inputs[IMAGE_COUNT][160], home[200], limits[64], variable[64];
    const char *arguments[40];
    int         count = 0;
    setsid();
    if (terminal >= 0) ioctl(terminal, TIOCSCTTY, 0);
    int nothing = open("/dev/null", O_RDWR);
    dup2(terminal >= 0 ? terminal : nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    closefrom(3);
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid((gid_t)w->user, (gid_t)w->user, (gid_t)w->user) != 0 ||
                           setresuid((uid_t)w->user, (uid_t)w->user, (uid_t)w->user) != 0))
        _exit(71);
    if (chdir(w->place) != 0) _exit(72);
    if (m->denied) {
        arguments[count++] = given.denier;
        arguments[count++] = m->denied;
        arguments[count++] = "--";
    }
    snprintf(path, sizeof path, "%s/coderhost", given.build);
    snprintf(plugins, sizeof plugins, "%s/plugins", w->root);
    snprintf(outputs, sizeof outputs, "%s/out/", w->root);
    arguments[count++] = path;
    arguments[count++] = "convert";
    for (int i = 0; i < IMAGE_COUNT; i++) {
        snprintf(inputs[i], sizeof inputs[i], "%s/in/private-name-%d.flt", w->root, i + 1);
        arguments[count++] = inputs[i];
    }
    snprintf(limits, sizeof limits, "default,memory=16M,time=%d", a->effect & TIMED ? TIME_LIMIT : 8000);
    const char *rest[] = {"-o", outputs, "-f", "pam", "--json", "--plugin-dir", plugins, "--isolation", m->isolation,
                          "--workers", m->workers, "--limits", limits, "-j", a->effect & PARALLEL ? "2" : "1", NULL};
    for (int i = 0; rest[i]; i++) arguments[count++] = rest[i];
    arguments[count] = NULL;
    snprintf(home, sizeof home, "HOME=%s/home", w->root);
    snprintf(variable, sizeof variable, "%s=1", VARIABLE_NAME);
    char *environment[] = {home, variable, (char *)(uintptr_t) "PATH=/usr/bin:/bin", NULL};
    execve(arguments[0], (char **)(uintptr_t)arguments, environment);
    _exit(73);
}

/* Opens a terminal without line buffering; the judge holds both ends. */
static int open_terminal(int *master) {
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0) return -1;
    int            slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios raw;
    if (slave >= 0 && tcgetattr(slave, &raw) == 0) {
        cfmakeraw(&raw);
        tcsetattr(slave, TCSANOW, &raw);
        fchmod(slave, 0666);
    }
    return slave;
}

void run_host(const world *w, const attack *a, const mode *m, outcome *result) {
    int master = -1;
    memset(result, 0, sizeof *result);
    int     terminal = a->effect & TERMINAL ? open_terminal(&master) : -1;
    char    path[] = "/tmp/coderhost-hostile-output-XXXXXX";
    int     output = mkostemp(path, O_CLOEXEC | O_APPEND);
    int     canary = canary_of(w->user);
    int64_t begin = now();
    unlink(path);
    pid_t host = fork();
    if (host == 0) become_host(w, a, m, output, terminal);
    int measures = a->effect & (CROWD | MEMORY), was_killed = 0;
    while (waitpid(host, &result->status, WNOHANG) == 0) {
        if (measures) measure(host, result);
        if ((a->effect & KILLS_HOST) && !was_killed && now() - begin > 400) was_killed = kill(host, SIGKILL) == 0;
        if (now() - begin > HANG) {
            result->hung = 1;
            kill(host, SIGKILL);
        }
        usleep(measures ? 8000 : 1500);
    }
    result->milliseconds = (int)(now() - begin);
    result->survivors = end_survivors(canary);
    if (terminal >= 0) ioctl(terminal, FIONREAD, &result->typed);
    ssize_t length = pread(output, result->output, sizeof result->output - 1, 0);
    result->output[length > 0 ? length : 0] = '\0';
    close(output);
    if (terminal >= 0) close(terminal);
    if (master >= 0) close(master);
}
