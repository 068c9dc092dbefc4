/* keeps-thread.c - a correct plugin whose constructor starts a permanent thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>

/* May run before or after the seal, so it uses a permitted call, unlike pause(). */
static void *wait_for_ever(void *argument) {
    sigset_t nothing;
    sigemptyset(&nothing);
    for (;;) sigsuspend(&nothing);
    return argument;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_ever, 0);
}

#include "../bad/plugin.h"
