#define _GNU_SOURCE
#include "host_processors.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

/* The processors allowed before binding, and the processor the thread is bound to; -1: none. */
static _Thread_local cpu_set_t before;
static _Thread_local int bound = -1;

int host_processor_count(void) {
    cpu_set_t set;
    if (bound >= 0) {
        return CPU_COUNT(&before);
    }
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int bind_to(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

int host_bind_processor(int index) {
    if (bound < 0 && sched_getaffinity(0, sizeof before, &before) != 0) {
        return -1;
    }
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &before) || index-- > 0) {
            continue;
        }
        if (bind_to(processor) != 0) {
            return -1;
        }
        bound = processor;
        return 0;
    }
    errno = EINVAL;
    return -1;
}

int host_bound_processor(void) { return bound; }

void host_lift_binding(int is_lifted) {
    if (bound < 0) {
        return;
    }
    if (is_lifted) {
        sched_setaffinity(0, sizeof before, &before);
    } else {
        bind_to(bound);
    }
}
