#define _GNU_SOURCE
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>

/* One call of run. Each thread takes the next index until none is left. */
typedef struct job {
    const cpi_services *services;
    cpi_task            task;
    void               *arg;
    uint32_t            count;
    _Atomic uint64_t    next;
    _Atomic uint32_t    failed; /* the lowest index that failed; `count` if none has */
    cpi_status          status; /* of that index; changed under the lock */
} job;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  work_is_there = PTHREAD_COND_INITIALIZER;
static pthread_cond_t  work_is_done = PTHREAD_COND_INITIALIZER;
static uint32_t        thread_count;
/* Under the lock. */
static job     *current_job;
static uint64_t serial;  /* of the job, so that a thread joins each job once */
static uint32_t allowed; /* threads that may join the job */
static uint32_t joined;
static uint32_t busy;

static __thread int is_running;

static void fail(job *work, uint32_t index, cpi_status status) {
    pthread_mutex_lock(&lock);
    if (index < atomic_load(&work->failed)) {
        work->status = status;
        atomic_store(&work->failed, index);
    }
    pthread_mutex_unlock(&lock);
}

static void take_part(job *work, uint32_t thread) {
    is_running = 1;
    uint64_t index;
    while (atomic_load(&work->failed) == work->count && (index = atomic_fetch_add(&work->next, 1)) < work->count) {
        cpi_status status = work->services->poll(work->services->ctx);
        if (status == CPI_OK) {
            status = work->task(work->arg, (uint32_t)index, thread);
        }
        if (status != CPI_OK) {
            /* A positive status is not a success either. */
            fail(work, (uint32_t)index, status < 0 ? status : CPI_INTERNAL);
        }
    }
    is_running = 0;
}

static void *help(void *unused) {
    (void)unused;
    uint64_t seen = 0;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!current_job || serial == seen || joined == allowed) {
            pthread_cond_wait(&work_is_there, &lock);
        }
        seen = serial;
        job *work = current_job;
        uint32_t thread = ++joined;
        busy++;
        pthread_mutex_unlock(&lock);
        take_part(work, thread);
        pthread_mutex_lock(&lock);
        if (--busy == 0) {
            pthread_cond_signal(&work_is_done);
        }
    }
    return NULL;
}

void parallel_begin(uint32_t threads) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    while (thread_count < threads && thread_count < PARALLEL_LIMIT) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, help, NULL) != 0) {
            break;
        }
        thread_count++;
    }
    pthread_attr_destroy(&attributes);
}

static cpi_status run(const cpi_services *services, uint32_t count, cpi_task task, void *arg) {
    if (is_running) {
        return CPI_MISUSE;
    }
    job work = {.services = services, .task = task, .arg = arg, .count = count};
    atomic_store(&work.failed, count);
    uint32_t hint = services->thread_hint(services->ctx);
    uint32_t helpers = hint > 1 ? hint - 1 : 0;
    helpers = helpers < thread_count ? helpers : thread_count;
    helpers = count > 1 && helpers >= count ? count - 1 : helpers;
    if (helpers > 0 && count > 1) {
        pthread_mutex_lock(&lock);
        current_job = &work;
        serial++;
        allowed = helpers;
        joined = 0;
        pthread_cond_broadcast(&work_is_there);
        pthread_mutex_unlock(&lock);
    }
    take_part(&work, 0);
    pthread_mutex_lock(&lock);
    /* No further thread joins; wait for the threads that have joined. */
    current_job = NULL;
    while (busy > 0) {
        pthread_cond_wait(&work_is_done, &lock);
    }
    pthread_mutex_unlock(&lock);
    return work.status;
}

const cpi_parallel_api parallel_table = {
    .table = {sizeof(cpi_parallel_api), 1, CPI_EXT_PARALLEL_TAG},
    .run = run,
};
