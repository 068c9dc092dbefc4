/*
 * descendants.h - what is left of a plugin when the process that loaded it has ended.
 *
 * In a PID namespace nothing is: all of it ends with its first process. Elsewhere the guardian has become the parent of
 * what a plugin forked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

/* Ends every child of this process, and their children. */
void descendants_end(void);

#endif
