#define _GNU_SOURCE
#include "host_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define BILLION INT64_C(1000000000)

static int64_t nanoseconds(int64_t seconds, int64_t rest) {
    /* Dates after the year 2262 are clamped. */
    if (seconds > INT64_MAX / BILLION - 1) return INT64_MAX;
    if (seconds < INT64_MIN / BILLION + 1) return INT64_MIN + 1;
    return seconds * BILLION + rest;
}

static int64_t of_statx(struct statx_timestamp time) { return nanoseconds(time.tv_sec, time.tv_nsec); }
static int64_t of_timespec(struct timespec time) { return nanoseconds(time.tv_sec, time.tv_nsec); }

int host_facts(int folder, const char *name, host_file_facts *facts) {
    const int    flags = AT_SYMLINK_NOFOLLOW | (name[0] == 0 ? AT_EMPTY_PATH : 0);
    struct statx wide;
    if (statx(folder, name, flags, STATX_BASIC_STATS | STATX_BTIME, &wide) == 0) {
        *facts = (host_file_facts){
            .accessed  = of_statx(wide.stx_atime),
            .modified  = of_statx(wide.stx_mtime),
            .changed   = of_statx(wide.stx_ctime),
            .born      = wide.stx_mask & STATX_BTIME ? of_statx(wide.stx_btime) : 0,
            .inode     = wide.stx_ino,
            .size      = wide.stx_size,
            .allocated = wide.stx_blocks * 512,
            .mode      = wide.stx_mode,
            .links     = wide.stx_nlink,
            .owner     = wide.stx_uid,
            .group     = wide.stx_gid,
        };
        return 0;
    }
    /* The kernel or the container does not provide the call. */
    if (errno != ENOSYS && errno != EPERM) return -1;
    struct stat narrow;
    if (fstatat(folder, name, &narrow, flags) != 0) return -1;
    *facts = (host_file_facts){
        .accessed  = of_timespec(narrow.st_atim),
        .modified  = of_timespec(narrow.st_mtim),
        .changed   = of_timespec(narrow.st_ctim),
        .inode     = narrow.st_ino,
        .size      = (uint64_t)narrow.st_size,
        .allocated = (uint64_t)narrow.st_blocks * 512,
        .mode      = narrow.st_mode,
        .links     = (uint32_t)narrow.st_nlink,
        .owner     = narrow.st_uid,
        .group     = narrow.st_gid,
    };
    return 0;
}

static struct timespec date(int64_t time) {
    if (time == HOST_DATE_KEPT) return (struct timespec){.tv_nsec = UTIME_OMIT};
    int64_t seconds = time / BILLION;
    int64_t rest    = time % BILLION;
    if (rest < 0) {
        rest += BILLION;
        seconds--;
    }
    return (struct timespec){.tv_sec = seconds, .tv_nsec = rest};
}

int host_set_dates(int descriptor, int64_t accessed, int64_t modified) {
    const struct timespec dates[2] = {date(accessed), date(modified)};
    return futimens(descriptor, dates);
}

int host_open_quietly(const char *path) {
    const int flags      = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int       descriptor = open(path, flags | O_NOATIME);
    /* Only a file's owner may use O_NOATIME. */
    return descriptor < 0 && errno == EPERM ? open(path, flags) : descriptor;
}

int host_working_folder(void) { return AT_FDCWD; }

int64_t host_clock(int kind) {
    struct timespec now;
    clock_gettime(kind == 0 ? CLOCK_REALTIME : CLOCK_BOOTTIME, &now);
    return of_timespec(now);
}
