/*
 * guardian.h - the process that the host started and waits for. It runs nothing of a plugin: its child does, and the
 * two end together, however one of them, or the host, comes to its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GUARDIAN_H
#define GUARDIAN_H

/* Forks; comes back only in the child, which is the first process of a PID namespace where there is one. */
void guardian_fork(void);

/* Readable (and at its end) as soon as the guardian is gone. */
extern int guardian_pipe;

#endif
