/* Wrong: it starts three threads, but its manifest declares none. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <unistd.h>
static void *work(void *nothing) { return usleep(3000), nothing; }
static void start(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
}
#define ON_DECODE if (d->rows_done == 0) start();
#include "plugin.h"
