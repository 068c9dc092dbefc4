#define _GNU_SOURCE
#include "zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <isolation_wire.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "confinement.h"
#include "descriptors.h"
#include "filter.h"
#include "guardian.h"
#include "plugin.h"
#include "private_root.h"
#include "violation.h"
#include "wire.h"
#include "worker.h"
#include "worker_exit.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40 /* include/uapi/linux/prctl.h */
#endif

/* ---- loading ---- */

static int recording;
static uint32_t idle_seconds;
/* /proc/self/task, kept open because it cannot be opened once the process is confined. */
static int task_folder = -1;

/* Threads of this process; 0 = not known. */
static uint32_t count_threads(void) {
    char entries[4096] __attribute__((aligned(8)));
    uint32_t count = 0;
    if (task_folder < 0 || lseek(task_folder, 0, SEEK_SET) != 0) {
        return 0;
    }
    long length;
    while ((length = syscall(__NR_getdents64, task_folder, entries, sizeof entries)) > 0) {
        for (long at = 0; at + 19 < length;) {
            /* struct linux_dirent64: inode, offset, length (16 bits), type, name */
            unsigned short entry;
            memcpy(&entry, entries + at + 16, sizeof entry);
            count += entries[at + 19] != '.';
            if (entry == 0) {
                return 0;
            }
            at += entry;
        }
    }
    return length < 0 ? 0 : count;
}

/* Returns the strings after a struct; the last one must have its NUL. */
static const char *folders_behind(const wire_message *message, size_t size, size_t *length) {
    const char *text = (const char *)message->body + size;
    *length = message->length - size;
    if (*length > 0 && text[*length - 1] != '\0') {
        wire_malformed();
    }
    return text;
}

static void reply_loaded(uint16_t type, const wire_message *message, iso_loaded *loaded) {
    loaded->confinement = confinement;
    iso_coder *coders = calloc(loaded->coder_count + 1, sizeof *coders);
    if (!coders) {
        worker_exit(EXIT_RESOURCES);
    }
    for (uint32_t i = 0; i < loaded->coder_count; i++) {
        plugin_describe(i, &coders[i]);
    }
    struct iovec parts[2] = {{loaded, sizeof *loaded}, {coders, loaded->coder_count * sizeof *coders}};
    wire_send(type, 0, message->sequence, parts, 2);
    free(coders);
}

/* All steps before any plugin code runs. */
static void confine(const iso_load *load, const char *folders, size_t length, int descriptor) {
    task_folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    private_root(folders, length, load->path);
    confine_capabilities();
    confine_limits(load->data_bytes, load->address_bytes, load->load_seconds, load->max_descriptors);
    confine_files(folders, length, load->path, descriptor);
    violation_watch();
    /* Before Linux 5.5 the guardian cannot permit a call. */
    int can_ask = confine_kernel_is(5, 5);
    guardian_hand_over(filter_loading(can_ask, load->threads > 0, load->pool > 0), load->threads, load->pool);
}

/* The plugin between ISO_LOAD and ISO_START. */
static struct {
    iso_load load;
    char    *folders;
    size_t   length;
    int      descriptor;
} waiting_plugin;

static void serve_load(wire_message *message) {
    iso_load *load = &waiting_plugin.load;
    memcpy(load, wire_body(message, sizeof *load), sizeof *load);
    if (!memchr(load->path, 0, sizeof load->path) || !memchr(load->name, 0, sizeof load->name)) {
        wire_malformed();
    }
    size_t length;
    const char *folders = folders_behind(message, sizeof *load, &length);
    waiting_plugin.folders = malloc(length + 1);
    if (!waiting_plugin.folders) {
        worker_exit(EXIT_RESOURCES);
    }
    memcpy(waiting_plugin.folders, folders, length);
    waiting_plugin.length = length;
    waiting_plugin.descriptor = load->path[0] ? -1 : wire_take(message, 0);
    recording = (load->flags & ISO_FLAG_RECORD) != 0;
    idle_seconds = load->idle_seconds;
    prctl(PR_SET_NAME, load->name, 0, 0, 0);
    confine(load, waiting_plugin.folders, length, waiting_plugin.descriptor);
    iso_loaded loaded = {.stage = ISO_STAGE_CONFINED, .error = {.size = sizeof loaded.error}};
    reply_loaded(ISO_LOADED, message, &loaded);
}

static void serve_start(const wire_message *message) {
    const iso_load *load = &waiting_plugin.load;
    iso_loaded loaded = {.stage = ISO_STAGE_CONFINED, .error = {.size = sizeof loaded.error}};
    /* The host has its own timeout; this one ends a plugin that still sleeps after the host has ended. */
    alarm(load->load_seconds * 4);
    plugin_load(load, waiting_plugin.folders, waiting_plugin.length, waiting_plugin.descriptor, &loaded);
    alarm(0);
    confine_end_of_loading(!guardian_holds);
    loaded.threads = count_threads();
    reply_loaded(ISO_LOADED, message, &loaded);
}

static void serve_probe(wire_message *message) {
    iso_load load = {.max_descriptors = 64};
    size_t length = 0;
    const char *folders = "";
    if (message->length > 0) {
        memcpy(&load, wire_body(message, sizeof load), sizeof load);
        folders = folders_behind(message, sizeof load, &length);
        load.path[sizeof load.path - 1] = '\0';
    }
    confine(&load, folders, length, -1);
    iso_loaded loaded = {.stage = ISO_STAGE_CONFINED, .error = {.size = sizeof loaded.error}};
    loaded.threads = count_threads();
    filter_seal(0, 0);
    reply_loaded(ISO_LOADED, message, &loaded);
    /* Once sealed, the process can only wait for its end. */
    wire_receive(message);
    wire_malformed();
}

/* ---- children ---- */

#define CHILD_LIMIT 256
static struct {
    pid_t pid; /* 0: free */
    uint64_t worker;
} children[CHILD_LIMIT];

/*
 * fork() as one system call with fixed flags, so that the filter can distinguish it from a plugin's. The C library
 * keeps the thread's number at the address that the kernel clears when the thread ends.
 */
static pid_t fork_marked(int *descriptor) {
    static int somewhere;
    int *number = NULL;
    if (prctl(PR_GET_TID_ADDRESS, &number, 0, 0, 0) != 0 || !number) {
        number = &somewhere;
    }
    *descriptor = -1;
#if defined(__aarch64__)
    return (pid_t)syscall(__NR_clone, FORK_FLAGS, NULL, descriptor, NULL, number);
#else
    return (pid_t)syscall(__NR_clone, FORK_FLAGS, NULL, descriptor, number, NULL);
#endif
}

static _Noreturn void become_child(int session, int shared, const iso_fork *fork, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) {
        worker_exit(EXIT_GONE);
    }
    violation_end_as_usual();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    worker_run(session, shared, fork, recording, idle_seconds);
}

static void serve_fork(wire_message *message) {
    iso_fork fork;
    memcpy(&fork, wire_body(message, sizeof fork), sizeof fork);
    int session = wire_take(message, 0);
    int shared = wire_take(message, 1);
    int place = 0;
    while (place < CHILD_LIMIT && children[place].pid != 0) {
        place++;
    }
    iso_forked forked = {.worker = fork.worker};
    int descriptor = -1;
    pid_t parent = getpid();
    pid_t child = place < CHILD_LIMIT ? fork_marked(&descriptor) : (errno = EAGAIN, -1);
    if (child == 0) {
        become_child(session, shared, &fork, parent);
    }
    close(session);
    close(shared);
    if (child < 0) {
        forked.error = errno;
    } else {
        children[place].pid = child;
        children[place].worker = fork.worker;
        forked.pid = child;
    }
    wire_send_descriptor(ISO_FORKED, message->sequence, &forked, sizeof forked, descriptor);
    if (descriptor >= 0) {
        close(descriptor);
    }
}

static int has_children(void) {
    for (int i = 0; i < CHILD_LIMIT; i++) {
        if (children[i].pid != 0) {
            return 1;
        }
    }
    return 0;
}

static void bury_children(void) {
    int status;
    struct rusage usage;
    pid_t pid;
    while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
        for (int i = 0; i < CHILD_LIMIT; i++) {
            if (children[i].pid != pid) {
                continue;
            }
            children[i].pid = 0;
            iso_ended ended = {.worker = children[i].worker,
                               .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                               .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                               .peak_bytes = (uint64_t)usage.ru_maxrss * 1024};
            ended.cpu_microseconds =
                (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
                (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
            wire_send_descriptor(ISO_ENDED, 0, &ended, sizeof ended, -1);
        }
    }
}

static void serve_become(wire_message *message) {
    iso_fork fork = {.threads = 1};
    if (message->length > 0) {
        memcpy(&fork, wire_body(message, sizeof fork), sizeof fork);
    }
    worker_run(ISO_CONTROL_DESCRIPTOR, wire_take(message, 0), &fork, recording, idle_seconds);
}

/* ---- the loop ---- */

static void on_child(int number) { (void)number; }

static void serve(wire_message *message, int *state) {
    enum { FRESH, CONFINED, LOADED, PROBED };
    switch (message->type) {
    case ISO_LOAD:
    case ISO_PROBE:
        if (*state != FRESH) {
            wire_malformed();
        }
        *state = message->type == ISO_LOAD ? CONFINED : PROBED;
        (message->type == ISO_LOAD ? serve_load : serve_probe)(message);
        return;
    case ISO_START:
        if (*state != CONFINED) {
            wire_malformed();
        }
        *state = LOADED;
        serve_start(message);
        return;
    case ISO_FORK:
    case ISO_BECOME:
        if (*state != LOADED) {
            wire_malformed();
        }
        (message->type == ISO_FORK ? serve_fork : serve_become)(message);
        return;
    default:
        wire_malformed();
    }
}

_Noreturn void zygote_run(void) {
    int state = 0;
    wire_message message;
    /* Load before changing the signal mask, so that a plugin's constructors see an ordinary mask. */
    do {
        wire_receive(&message);
        serve(&message, &state);
        wire_drop(&message);
    } while (message.type == ISO_LOAD);
    struct sigaction action = {.sa_handler = on_child};
    sigset_t blocked;
    sigset_t before;
    sigaction(SIGCHLD, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    for (;;) {
        struct pollfd waiting[2] = {{.fd = ISO_CONTROL_DESCRIPTOR, .events = POLLIN},
                                    {.fd = guardian_pipe, .events = POLLIN}};
        bury_children();
        struct timespec idle = {idle_seconds, 0};
        int is_idle = idle_seconds > 0 && !has_children();
        int ready = ppoll(waiting, 2, is_idle ? &idle : NULL, &before);
        if (ready == 0 && is_idle) {
            worker_exit(EXIT_GONE);
        }
        if (ready <= 0) {
            continue;
        }
        if (waiting[1].revents) {
            worker_exit(EXIT_GONE);
        }
        if (waiting[0].revents) {
            wire_receive(&message);
            serve(&message, &state);
            wire_drop(&message);
        }
    }
}
