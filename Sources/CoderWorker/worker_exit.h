/*
 * worker_exit.h - exit codes, and ending the process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WORKER_EXIT_H
#define WORKER_EXIT_H

#include <isolation_wire.h>

#define EXIT_GONE 0          /* the host closed its socket                                              */
#define EXIT_USAGE 64        /* started by hand: there is no socket on descriptor 3                     */
#define EXIT_PROTOCOL 65     /* the host sent something other than a message of this version            */
#define EXIT_RESOURCES ISO_EXIT_RESOURCES /* no memory, no process, no shared page                                   */
#define EXIT_SIGNAL_BASE 128 /* plus the number of a signal that could not end the process              */

/* Ends at once, without running a plugin's atexit handlers. */
_Noreturn void worker_exit(int code);

/* Ends as the signal would. Async-signal-safe. */
_Noreturn void worker_die(int signal_number);

#endif
