/*
 * confinement.h - what holds the process back besides the system call filters: namespaces, limits, Landlock.
 *
 * Everything is tried and nothing is required: what is in force is reported, and the host decides whether it is enough.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFINEMENT_H
#define CONFINEMENT_H

#include <isolation_wire.h>

/* What is in force in this process. */
extern iso_confinement confinement;

/* No privileges through exec, no core dump, no debugger. */
void confine_privileges(void);

/* Namespaces of its own, as many as the system grants. A PID namespace begins with the next child. */
void confine_namespaces(void);

/* Gives up what a new user namespace, or the superuser, may do. */
void confine_capabilities(void);

/* Limits for loading: 0 = none. */
void confine_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds, uint32_t max_descriptors);

/* Whether the system is Linux of this version or a later one. */
int confine_kernel_is(int major, int minor);

/* Takes back the limit of loading on processor time, and on memory where that is in no other hand. */
void confine_end_of_loading(int memory_too);

/* Limits for a worker, soft and hard: 0 = none. */
void confine_worker_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds);

/*
 * Reading below `folders` (each ended by a NUL, `length` bytes altogether) and of one descriptor's file, and no other
 * access to files; no TCP; no signals and no abstract sockets beyond this process and its children.
 */
void confine_files(const char *folders, size_t length, const char *path, int descriptor);

#endif
