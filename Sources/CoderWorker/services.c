#define _GNU_SOURCE
#include "session.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- memory ---- */

/* The size precedes each block, for release; 16 bytes keep the block aligned for any type. */
#define IN_FRONT 16

static _Atomic int64_t reserved;
/* The pixel bytes of the current request, which count against the same limit. */
static _Atomic int64_t pixels;

void services_hold(uint64_t bytes) {
    atomic_store(&pixels, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
}

/* Adds memory of the plugin to the budget; 0 when pixels and plugin together would exceed the limit. */
static int reserve(int64_t delta) {
    uint64_t limit = current.limits.max_total_alloc;
    int64_t now = atomic_load(&reserved);
    int64_t sum;
    do {
        if (__builtin_add_overflow(now, delta, &sum)) {
            return 0;
        }
        uint64_t held = (uint64_t)atomic_load(&pixels);
        if (delta > 0 && limit > 0 && sum > 0 && (held > limit || (uint64_t)sum > limit - held)) {
            return 0;
        }
        sum = sum < 0 ? 0 : sum;
    } while (!atomic_compare_exchange_weak(&reserved, &now, sum));
    return 1;
}

static void *allocate(void *ctx, uint64_t count) {
    (void)ctx;
    if (count > INT64_MAX - IN_FRONT || !reserve((int64_t)count)) {
        return NULL;
    }
    char *block = malloc((size_t)count + IN_FRONT);
    if (!block) {
        return NULL;
    }
    memcpy(block, &count, sizeof count);
    return block + IN_FRONT;
}

static void release(void *ctx, void *memory) {
    (void)ctx;
    if (!memory) {
        return;
    }
    char *block = (char *)memory - IN_FRONT;
    uint64_t count;
    memcpy(&count, block, sizeof count);
    reserve(-(int64_t)count);
    free(block);
}

static cpi_status budget(void *ctx, int64_t delta) {
    (void)ctx;
    return reserve(delta) ? CPI_OK : CPI_LIMIT;
}

/* ---- time ---- */

static uint64_t now(void *ctx) {
    (void)ctx;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static cpi_status poll_host(void *ctx) {
    if (__atomic_load_n(&shared_page->cancelled, __ATOMIC_RELAXED)) {
        return CPI_CANCELLED;
    }
    uint64_t deadline = __atomic_load_n(&shared_page->deadline, __ATOMIC_RELAXED);
    return deadline != 0 && now(ctx) > deadline ? CPI_DEADLINE : CPI_CONTINUE;
}

static uint32_t thread_hint(void *ctx) {
    (void)ctx;
    return current.thread_hint > 0 ? current.thread_hint : 1;
}

/* ---- messages ---- */

/*
 * The number of different warnings sent per session, because a file may cause one in each row. The host keeps fewer,
 * and compares them after cutting and repairing the text, so two warnings that differ here can be equal there.
 */
#define WARNING_LIMIT 256

static _Atomic uint64_t told[WARNING_LIMIT];

/* 1: this text is new in this session, and there is room for it. */
static int is_new(const char *text, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    hash |= 1;
    for (int i = 0; i < WARNING_LIMIT; i++) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&told[i], &there, hash)) {
            return 1;
        }
        if (there == hash) {
            return 0;
        }
    }
    return 0;
}

static void warn(void *ctx, uint32_t severity, const char *message) {
    (void)ctx;
    if (severity < CPI_LOG_WARNING) {
        return;
    }
    size_t length = strnlen(message, ISO_WARNING_LIMIT);
    if (!is_new(message, length)) {
        return;
    }
    iso_log log = {.severity = severity, .length = (uint32_t)length};
    struct iovec parts[2] = {{&log, sizeof log}, {(char *)message, length}};
    wire_send(ISO_LOG, current.id, current.sequence, parts, 2);
}

#define PROGRESS_NANOSECONDS 20000000u
static uint64_t progress_time;
static iso_progress progress_last;

static void progress(void *ctx, uint64_t done, uint64_t total) {
    if (!__atomic_load_n(&shared_page->progress, __ATOMIC_RELAXED)) {
        return;
    }
    uint64_t time = now(ctx);
    iso_progress wanted = {done, total};
    int is_end = total > 0 && done >= total && memcmp(&wanted, &progress_last, sizeof wanted) != 0;
    if (time - progress_time < PROGRESS_NANOSECONDS && !is_end) {
        return;
    }
    progress_time = time;
    progress_last = wanted;
    struct iovec part = {&wanted, sizeof wanted};
    wire_send(ISO_PROGRESS, current.id, current.sequence, &part, 1);
}

void services_begin(void) {
    atomic_store(&reserved, 0);
    services_hold(0);
    for (int i = 0; i < WARNING_LIMIT; i++) {
        atomic_store(&told[i], 0);
    }
    progress_time = 0;
    memset(&progress_last, 0, sizeof progress_last);
    current.services = (cpi_services){.size = sizeof current.services,
                                      .ctx = &current,
                                      .allocate = allocate,
                                      .release = release,
                                      .budget = budget,
                                      .poll = poll_host,
                                      .log = warn,
                                      .progress = progress,
                                      .now = now,
                                      .thread_hint = thread_hint};
}
