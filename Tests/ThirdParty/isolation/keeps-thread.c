/* keeps-thread.c - a good plugin whose constructor starts a thread that stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>

/* It may get here before the process is sealed or after: with a call that the sandbox knows, unlike pause(). */
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
