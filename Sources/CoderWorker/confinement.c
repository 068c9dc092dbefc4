#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "calls.h"

iso_confinement confinement = {.state = {
    ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET,
    ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET, ISO_NOT_YET}};

_Static_assert(ISO_MECHANISM_COUNT == 13, "each mechanism begins as not yet in force");

void confine_privileges(void) {
    confinement.state[ISO_NO_NEW_PRIVILEGES] = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? ISO_IN_FORCE : errno;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

/* ---- namespaces ---- */

static const struct {
    int mechanism; /* -1: not reported */
    int flag;
} namespaces[] = {
    /* The user namespace comes first: it permits the others without privileges. */
    {ISO_USER_NAMESPACE, CLONE_NEWUSER},   {ISO_PID_NAMESPACE, CLONE_NEWPID},  {ISO_NETWORK_NAMESPACE, CLONE_NEWNET},
    {ISO_IPC_NAMESPACE, CLONE_NEWIPC},     {ISO_MOUNT_NAMESPACE, CLONE_NEWNS}, {-1, CLONE_NEWUTS},
};
#define NAMESPACE_COUNT (sizeof namespaces / sizeof namespaces[0])

static void write_text(const char *path, const char *text) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        ssize_t count = write(descriptor, text, strlen(text));
        (void)count;
        close(descriptor);
    }
}

/* Without a mapped user the process could not create the folders of its private root. */
static void map_user(uid_t user, gid_t group) {
    char line[64];
    write_text("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "65534 %u 1", (unsigned)user);
    write_text("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "65534 %u 1", (unsigned)group);
    write_text("/proc/self/gid_map", line);
}

void confine_namespaces(void) {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    int all = 0;
    for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
        all |= namespaces[i].flag;
    }
    int together = unshare(all) == 0;
    for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
        int state = together || unshare(namespaces[i].flag) == 0 ? ISO_IN_FORCE : errno;
        if (namespaces[i].mechanism >= 0) {
            confinement.state[namespaces[i].mechanism] = state;
        }
    }
    if (confinement.state[ISO_USER_NAMESPACE] == ISO_IN_FORCE) {
        map_user(user, group);
    }
}

void confine_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    syscall(__NR_capset, &header, none);
    /* Comes last, because root owns the uid_map of a process that is not dumpable. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* ---- limits ---- */

#define STACK_BYTES ((rlim_t)8 << 20)
/* The hard limit: it ends a process that ignores the soft limit, and is the maximum for later workers. */
#define MOST_CPU_SECONDS ((rlim_t)24 * 60 * 60)

/* Sets a limit, clamped to the permitted maximum; remembers the first failure. */
static void limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit now;
    if (getrlimit(resource, &now) == 0) {
        hard = now.rlim_max != RLIM_INFINITY && (hard == RLIM_INFINITY || hard > now.rlim_max) ? now.rlim_max : hard;
        soft = hard != RLIM_INFINITY && (soft == RLIM_INFINITY || soft > hard) ? hard : soft;
        struct rlimit wanted = {soft, hard};
        if (setrlimit(resource, &wanted) == 0) {
            return;
        }
    }
    confinement.state[ISO_LIMITS] = errno;
}

int confine_kernel_is(int major, int minor) {
    struct utsname system;
    int this_major = 0;
    int this_minor = 0;
    return uname(&system) == 0 && sscanf(system.release, "%d.%d", &this_major, &this_minor) == 2 &&
           (this_major > major || (this_major == major && this_minor >= minor));
}

void confine_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds, uint32_t max_descriptors) {
    confinement.state[ISO_LIMITS] = ISO_IN_FORCE;
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_FSIZE, 0, 0);
    limit(RLIMIT_STACK, STACK_BYTES, STACK_BYTES);
    if (max_descriptors > 0) {
        limit(RLIMIT_NOFILE, max_descriptors, max_descriptors);
    }
    /* Only the soft limit: the workers' own limits are set later, and may be larger. The first filter keeps a plugin
       from raising it. */
    if (data_bytes > 0) {
        limit(RLIMIT_DATA, data_bytes, RLIM_INFINITY);
    }
    if (address_bytes > 0) {
        limit(RLIMIT_AS, address_bytes, RLIM_INFINITY);
    }
    limit(RLIMIT_CPU, cpu_seconds > 0 ? cpu_seconds : MOST_CPU_SECONDS, MOST_CPU_SECONDS);
    /* Since Linux 5.14 processes are counted for each user namespace, before that for the whole user. */
    if (confinement.state[ISO_USER_NAMESPACE] == ISO_IN_FORCE && confine_kernel_is(5, 14)) {
        /* Threads count, too: enough for a worker with its threads on every processor. */
        rlim_t processes = 64 + 16 * (rlim_t)sysconf(_SC_NPROCESSORS_ONLN);
        limit(RLIMIT_NPROC, processes, processes);
    }
}

void confine_end_of_loading(int memory_too) {
    /* The worker of a session without a memory limit has none either. */
    static const int resources[] = {RLIMIT_CPU, RLIMIT_DATA, RLIMIT_AS};
    for (size_t i = 0; i < (memory_too ? 3u : 1u); i++) {
        struct rlimit now;
        if (getrlimit(resources[i], &now) == 0) {
            now.rlim_cur = now.rlim_max;
            setrlimit(resources[i], &now);
        }
    }
}

void confine_worker_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds) {
    if (data_bytes > 0) {
        limit(RLIMIT_DATA, data_bytes, data_bytes);
    }
    if (address_bytes > 0) {
        limit(RLIMIT_AS, address_bytes, address_bytes);
    }
    if (cpu_seconds > 0) {
        /* A plugin may catch the signal of the soft limit; the hard one ends it. */
        limit(RLIMIT_CPU, cpu_seconds, (rlim_t)cpu_seconds + 2);
    }
}

/* ---- Landlock: include/uapi/linux/landlock.h, in versions that the build machine may lack ---- */

struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* since 4 */
    uint64_t scoped;             /* since 6 */
};

struct __attribute__((packed)) path_rule {
    uint64_t allowed_access;
    int32_t  parent;
};

#define RULE_PATH_BENEATH 1
#define CREATE_VERSION 1U

#define ACCESS_READ_FILE (UINT64_C(1) << 2)
#define ACCESS_READ_DIR  (UINT64_C(1) << 3)
#define ACCESS_VERSION_1 ((UINT64_C(1) << 13) - 1)
#define ACCESS_REFER     (UINT64_C(1) << 13) /* since 2 */
#define ACCESS_TRUNCATE  (UINT64_C(1) << 14) /* since 3 */
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15) /* since 5 */
#define ACCESS_BIND_AND_CONNECT_TCP UINT64_C(3)
#define SCOPE_ABSTRACT_SOCKET_AND_SIGNAL UINT64_C(3)

static void allow(int ruleset, int descriptor, uint64_t access) {
    struct path_rule rule = {access, descriptor};
    syscall(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

static void allow_path(int ruleset, const char *path) {
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) {
        return;
    }
    /* The kernel rejects a rule for a file with access rights that only folders have. */
    struct path_rule rule = {ACCESS_READ_FILE | ACCESS_READ_DIR, descriptor};
    if (syscall(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0) {
        allow(ruleset, descriptor, ACCESS_READ_FILE);
    }
    close(descriptor);
}

void confine_files(const char *folders, size_t length, const char *path, int descriptor) {
    int32_t *state = confinement.state;
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    if (version < 1) {
        state[ISO_LANDLOCK] = state[ISO_LANDLOCK_NETWORK] = state[ISO_LANDLOCK_SCOPE] = errno;
        return;
    }
    confinement.landlock_version = (int32_t)version;
    struct ruleset rules = {.handled_access_fs = ACCESS_VERSION_1};
    rules.handled_access_fs |= version >= 2 ? ACCESS_REFER : 0;
    rules.handled_access_fs |= version >= 3 ? ACCESS_TRUNCATE : 0;
    rules.handled_access_fs |= version >= 5 ? ACCESS_IOCTL_DEV : 0;
    rules.handled_access_net = version >= 4 ? ACCESS_BIND_AND_CONNECT_TCP : 0;
    rules.scoped = version >= 6 ? SCOPE_ABSTRACT_SOCKET_AND_SIGNAL : 0;
    /* An older kernel accepts a longer struct if the unknown members are zero. */
    int ruleset = (int)syscall(__NR_landlock_create_ruleset, &rules, sizeof rules, 0);
    int failure = ruleset < 0 ? errno : 0;
    if (!failure) {
        for (const char *at = folders; at < folders + length; at += strlen(at) + 1) {
            allow_path(ruleset, at);
        }
        allow_path(ruleset, "/etc/ld.so.cache");
        if (*path) {
            allow_path(ruleset, path);
        }
        if (descriptor >= 0) {
            allow(ruleset, descriptor, ACCESS_READ_FILE);
        }
        failure = syscall(__NR_landlock_restrict_self, ruleset, 0) == 0 ? 0 : errno;
        close(ruleset);
    }
    state[ISO_LANDLOCK] = failure;
    state[ISO_LANDLOCK_NETWORK] = failure ? failure : version >= 4 ? ISO_IN_FORCE : EOPNOTSUPP;
    state[ISO_LANDLOCK_SCOPE] = failure ? failure : version >= 6 ? ISO_IN_FORCE : EOPNOTSUPP;
}
