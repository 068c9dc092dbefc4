/*
 * private_root.h - a private file system for the process with only the library folders, read-only.
 *
 * Landlock denies opening other files. With a private root they do not exist, so no call can reach them by a path.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PRIVATE_ROOT_H
#define PRIVATE_ROOT_H

#include <stddef.h>

/*
 * Mounts `folders` (NUL-terminated, `length` bytes together), `path` unless it is empty, and the process's own
 * descriptors under /proc/self/fd. Needs the capabilities of a new user namespace. If a step fails, nothing changes;
 * ISO_PRIVATE_ROOT reports the result.
 */
void private_root(const char *folders, size_t length, const char *path);

#endif
