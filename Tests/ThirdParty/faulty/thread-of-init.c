/* Wrong: it relies on a thread started by init, which a forked process does not have. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int asked, answered;
static void *work(void *nothing) {
    for (;; usleep(100)) answered = asked;
    return nothing;
}
#define MANIFEST_THREADS "1"
#define ON_INIT                                                                                                        \
    pthread_t thread;                                                                                                  \
    pthread_create(&thread, NULL, work, NULL);
#define ON_DECODE                                                                                                      \
    const int mine = ++asked;                                                                                          \
    for (int tries = 0; answered < mine; usleep(100))                                                                  \
        if (tries++ == 5000) return fail(&d->base, error, CPI_INTERNAL, "the thread of init does not answer");        \
    AFTER_THREAD
#ifndef AFTER_THREAD
#define AFTER_THREAD
#endif
#include "plugin.h"
