/* keeps-thread.c - a good plugin whose constructor starts a thread that stays. */
#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *argument) {
    for (;;) pause();
    return argument;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_ever, 0);
}

#include "../bad/plugin.h"
