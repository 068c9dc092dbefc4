/*
 * host_system.h - the few system calls that Swift cannot reach by itself: variadic functions, casting macros, and what
 * glibc hides behind _GNU_SOURCE. Each does what its namesake does; errors are in errno.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HOST_SYSTEM_H
#define HOST_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* getenv, but NULL in a process with raised privileges. The corresponding function is `secure_getenv`. */
const char *_Nullable host_secure_getenv(const char *_Nonnull name);

/* Whether the process may do more than who started it: the same that makes `secure_getenv` answer NULL. */
int host_is_privileged(void);

/* An anonymous file for code. The corresponding function is `memfd_create`; -1 on failure. */
int host_memfd_executable(const char *_Nonnull name);

/* Makes an anonymous file immutable. The corresponding call is `fcntl(F_ADD_SEALS)`; -1 on failure. */
int host_seal(int descriptor);

/*
 * Raises the stack limit of the main thread, of later threads and of later child processes to `wanted` bytes, or as far
 * as the hard limit allows. Returns the limit that holds then.
 */
uint64_t host_raise_stack_limit(uint64_t wanted);

/* Starts a thread with a stack of at least `stack` bytes, whatever the stack limit is. Returns an error number. */
int host_start_thread(uint64_t stack, void *_Nullable (*_Nonnull body)(void *_Nullable), void *_Nullable context,
                      unsigned long *_Nonnull thread);

/* A non-blocking inotify descriptor. The corresponding function is `inotify_init1`; -1 on failure. */
int host_inotify(void);

/* Watches a directory for entries that appear, change or go; -1 on failure. */
int host_inotify_watch(int descriptor, const char *_Nonnull directory);

/* Whether a file has this extended attribute with this value of at most 16 bytes. The function is `getxattr`. */
int host_has_attribute(const char *_Nonnull path, const char *_Nonnull name, const char *_Nonnull value);

/* Creates a file that did not exist, with the permissions that the umask allows. -1 on failure. */
int host_create_exclusive(const char *_Nonnull path);

/* A file in a folder that has no name yet and is gone with its descriptor. The flag is `O_TMPFILE`; -1 where unknown. */
int host_create_unnamed(const char *_Nonnull folder);

/* The same for its owner alone. */
int host_create_private_unnamed(const char *_Nonnull folder);

/* Gives such a file a name that nothing has. The corresponding function is `linkat`; -1 on failure. */
int host_give_name(int descriptor, const char *_Nonnull path);

/* Renames to a name that nothing has. The corresponding function is `renameat2`, with RENAME_NOREPLACE; where the file
   system has no such thing, `rename` when nothing has the name at that moment. -1 on failure. */
int host_rename_exclusive(const char *_Nonnull from, const char *_Nonnull to);

/* Marks an open file or folder as in use until its descriptor is closed, however the process ends. The function is
   `flock`; -1 where another one holds it (EWOULDBLOCK), or where the file system has no such thing. */
int host_lock(int descriptor);

/* Opens a file or folder to look at, never what a link leads to. -1 on failure. */
int host_open_itself(const char *_Nonnull path);

/* The words of the command line; no word behind the last. The loader hands them over, so no /proc is needed. */
const char *_Nullable host_argument(int index);

/* The path by which this program was started, as the kernel tells it. The entry is `AT_EXECFN` of `getauxval`. */
const char *_Nullable host_executable_name(void);

/* Makes sure that 0, 1 and 2 are open, so that no file gets one of these numbers and what is meant for a person goes
   into it. A closed one is opened so that using it fails, as before. */
void host_keep_standard_streams(void);

/* Opens an existing file for writing without changing it. -1 on failure. */
int host_open_for_writing(const char *_Nonnull path);

/* Opens a directory to look into it, without following a link in the last part. -1 on failure. */
int host_open_folder(const char *_Nonnull path);

/*
 * Opens something in a directory for reading, without waiting for anybody and without following links of /proc. The call
 * is `openat2`. -1 on failure.
 *
 * kind 0: links are followed; 1: those that lead out of the directory fail with EXDEV; 2: a directory.
 */
int host_open_in_folder(int folder, const char *_Nonnull name, int kind);

/* Creates a file that did not exist, for its owner alone. -1 on failure. */
int host_create_private(const char *_Nonnull path);

/* Opens a file that is only there to be locked; makes it when it is missing. -1 on failure. */
int host_open_lock(const char *_Nonnull path);

#endif
