/*
 * version.h - the version of the interface, and the compiler differences that every other header relies on.
 *
 *   interface   coderhost   appended
 *   1.0         0.1         everything
 *
 * Host and plugin exchange their minors: cpi_host.abi_minor and cpi_plugin.abi_minor_built. Neither side sends a value,
 * flag, status or table that is newer than the other side's minor. A host of minor N runs every plugin built for a
 * minor of the same major, older or newer, unless the plugin's manifest states a `minor_needed` above N. A host
 * supports the previous major for at least 24 months.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_VERSION_H
#define CPI_VERSION_H
#include <stddef.h>
#include <stdint.h>

#define CPI_ABI_MAJOR 1
#define CPI_ABI_MINOR 0

/*
 * Define CPI_TARGET_MINOR before the first include to build against an older minor. The headers then declare nothing
 * that was appended later, and structs have the size they had. (1.0 is the first minor: nothing depends on it yet.)
 */
#ifndef CPI_TARGET_MINOR
#define CPI_TARGET_MINOR CPI_ABI_MINOR
#elif CPI_TARGET_MINOR > CPI_ABI_MINOR
#error "these headers end at the minor CPI_ABI_MINOR"
#endif

/*
 * Nullability is a clang attribute, the one extension used here; gcc reads nothing. Between BEGIN and END every pointer
 * is non-null unless it is marked CPI_NULLABLE.
 */
#if defined(__clang__)
#define CPI_NULLABILITY(word)                                                                                        \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") word            \
    _Pragma("clang diagnostic pop")
#define CPI_NULLABLE             CPI_NULLABILITY(_Nullable)
#define CPI_NONNULL              CPI_NULLABILITY(_Nonnull)
#define CPI_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define CPI_ASSUME_NONNULL_END   _Pragma("clang assume_nonnull end")
#else
#define CPI_NULLABLE
#define CPI_NONNULL
#define CPI_ASSUME_NONNULL_BEGIN
#define CPI_ASSUME_NONNULL_END
#endif

#if defined(__cplusplus)
#define CPI_EXTERN extern "C"
#else
#define CPI_EXTERN extern
#endif

/* Makes the entry function visible in a plugin built with -fvisibility=hidden. */
#define CPI_EXPORT __attribute__((visibility("default")))
#endif
