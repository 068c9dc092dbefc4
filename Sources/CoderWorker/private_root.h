/*
 * private_root.h - a file system of its own for the process: the folders of libraries, for reading only, and nothing else.
 *
 * Landlock refuses to open other files; here they do not exist, so that no call can reach them by a path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PRIVATE_ROOT_H
#define PRIVATE_ROOT_H

#include <stddef.h>

/*
 * Shows `folders` (each ended by a NUL, `length` bytes altogether), `path` unless it is empty, and the process's own
 * descriptors under /proc/self/fd. Needs the capabilities that a new user namespace gives. Everything stays as it was
 * where a step fails; ISO_PRIVATE_ROOT tells which of both.
 */
void private_root(const char *folders, size_t length, const char *path);

#endif
