/*
 * confinement.h - confinement besides the system call filters: namespaces, limits, Landlock.
 *
 * All mechanisms are tried, none is required. The host gets a report and decides whether it is sufficient.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONFINEMENT_H
#define CONFINEMENT_H

#include <isolation_wire.h>

/* The confinement in force in this process. */
extern iso_confinement confinement;

/* Prevents new privileges through exec, core dumps and debuggers. */
void confine_privileges(void);

/* Creates as many namespaces as the system permits. A PID namespace begins with the next child. */
void confine_namespaces(void);

/* Drops the capabilities of a new user namespace or of the superuser. */
void confine_capabilities(void);

/* Sets the limits for loading; 0 = none. */
void confine_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds, uint32_t max_descriptors);

/* Whether the kernel is Linux of this version or later. */
int confine_kernel_is(int major, int minor);

/* Lifts the loading limit on processor time, and on memory if `memory_too`. */
void confine_end_of_loading(int memory_too);

/* Sets the soft and hard limits of a worker; 0 = none. */
void confine_worker_limits(uint64_t data_bytes, uint64_t address_bytes, uint32_t cpu_seconds);

/*
 * Permits only reading below `folders` (NUL-terminated, `length` bytes together) and of one descriptor's file. Denies
 * TCP, and signals and abstract sockets beyond this process and its children.
 */
void confine_files(const char *folders, size_t length, const char *path, int descriptor);

#endif
