/*
 * zygote.h - the process that holds one loaded plugin and forks workers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ZYGOTE_H
#define ZYGOTE_H

/* Serves the control socket until it ends. */
_Noreturn void zygote_run(void);

#endif
