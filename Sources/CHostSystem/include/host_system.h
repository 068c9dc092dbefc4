/*
 * host_system.h - system calls that Swift cannot call directly: variadic functions, casting macros, and functions that
 * glibc hides behind _GNU_SOURCE. Each behaves like the function it names; errors are in errno.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* getenv, but NULL in a process with raised privileges. The corresponding function is `secure_getenv`. */
const char *_Nullable host_secure_getenv(const char *_Nonnull name);

/* Whether the process has raised privileges, so that `secure_getenv` returns NULL. */
int host_is_privileged(void);

/* An anonymous file for code. The corresponding function is `memfd_create`; -1 on failure. */
int host_memfd_executable(const char *_Nonnull name);

/* Makes an anonymous file immutable. The corresponding call is `fcntl(F_ADD_SEALS)`; -1 on failure. */
int host_seal(int descriptor);

/*
 * Raises the stack limit of the main thread, later threads and later child processes to `wanted` bytes, or up to the
 * hard limit. Returns the resulting limit.
 */
uint64_t host_raise_stack_limit(uint64_t wanted);

/* Starts a thread with a stack of at least `stack` bytes, independent of the limit. Returns an error number. */
int host_start_thread(uint64_t stack, void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable context,
                      unsigned long *_Nonnull thread);

/* A non-blocking inotify descriptor. The corresponding function is `inotify_init1`; -1 on failure. */
int host_inotify(void);

/* Watches a directory for added, changed and removed entries; -1 on failure. */
int host_inotify_watch(int descriptor, const char *_Nonnull directory);

/* Whether a file has this extended attribute with this value of at most 16 bytes. The function is `getxattr`. */
int host_has_attribute(const char *_Nonnull path, const char *_Nonnull name, const char *_Nonnull value);

/* Creates a new file with the permissions that the umask allows; -1 on failure or if it exists. */
int host_create_exclusive(const char *_Nonnull path);

/* Creates an unnamed file in a folder, deleted with its descriptor. The flag is `O_TMPFILE`; -1 if unsupported. */
int host_create_unnamed(const char *_Nonnull folder);

/* The same, accessible only to its owner. */
int host_create_private_unnamed(const char *_Nonnull folder);

/* Gives such a file an unused name. The corresponding function is `linkat`; -1 on failure. */
int host_give_name(int descriptor, const char *_Nonnull path);

/* Renames to an unused name. The corresponding function is `renameat2` with RENAME_NOREPLACE; on file systems without
it, `rename` after a check that the name is unused. -1 on failure. */
int host_rename_exclusive(const char *_Nonnull from, const char *_Nonnull to);

/* Locks an open file or folder until its descriptor is closed, even if the process crashes. The function is `flock`; -1
if another process holds the lock (EWOULDBLOCK), or if the file system has no locks. */
int host_lock(int descriptor);

/* Opens a file or folder to inspect it, without following a link. -1 on failure. */
int host_open_itself(const char *_Nonnull path);

/* Returns a command-line argument, NULL after the last. The loader passes them, so /proc is not needed. */
const char *_Nullable host_argument(int index);

/* The path by which the kernel started this program: `AT_EXECFN` of `getauxval`. */
const char *_Nullable host_executable_name(void);

/* Opens closed standard streams 0, 1 and 2, so that no file gets their numbers and receives output meant for a user. A
closed stream is opened so that using it fails as before. */
void host_keep_standard_streams(void);

/* Opens an existing file for writing, without truncating it. -1 on failure. */
int host_open_for_writing(const char *_Nonnull path);

/* Opens a directory, without following a link in the last component. -1 on failure. */
int host_open_folder(const char *_Nonnull path);

/*
 * Opens an entry of a directory for reading, without blocking and without following links of /proc. The call is
 * `openat2`. -1 on failure.
 *
 * kind 0: follows links; 1: links that lead out of the directory fail with EXDEV; 2: opens a directory.
 */
int host_open_in_folder(int folder, const char *_Nonnull name, int kind);

/* Creates a new file, accessible only to its owner. -1 on failure or if it exists. */
int host_create_private(const char *_Nonnull path);

/* Opens a lock file, and creates it if it is missing. -1 on failure. */
int host_open_lock(const char *_Nonnull path);

#endif
