/*
 * worker_exit.h - how the process ends when it is not by a signal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WORKER_EXIT_H
#define WORKER_EXIT_H

#include <isolation_wire.h>

#define EXIT_GONE 0          /* the host closed its socket                                              */
#define EXIT_USAGE 64        /* started by hand: there is no socket on descriptor 3                     */
#define EXIT_PROTOCOL 65     /* what came from the host is no message of this version                   */
#define EXIT_RESOURCES ISO_EXIT_RESOURCES /* no memory, no process, no shared page                                   */
#define EXIT_SIGNAL_BASE 128 /* plus the number of a signal the process could not end by                */

/* Ends at once, without what a plugin registered with atexit. */
_Noreturn void worker_exit(int code);

/* Ends as the signal would. Async-signal-safe. */
_Noreturn void worker_die(int signal_number);

#endif
