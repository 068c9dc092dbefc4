/* Wrong: it starts a thread that never ends. */
#include <pthread.h>
#include <unistd.h>
static void *work(void *nothing) {
    for (;;) pause();
    return nothing;
}
static void start(void) {
    static int once;
    pthread_t  thread;
    if (!once++) pthread_create(&thread, NULL, work, NULL);
}
#define MANIFEST_THREADS "1"
#define ON_DECODE start();
#include "plugin.h"
