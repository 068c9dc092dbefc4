/*
 * descendants.h - ends the processes that a plugin leaves behind.
 *
 * In a PID namespace they all end with its first process. Elsewhere the guardian adopts the orphaned processes that a
 * plugin forked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

/* Ends every child of this process, and their children. */
void descendants_end(void);

#endif
