/*
 * version.h - interface version, and the compiler differences every other header relies on.
 *
 *   release   minor   appended
 *   0.1       1.0     everything not listed below
 *
 * A host of minor N runs every plugin built for a minor of the same major, older or newer, unless the plugin's
 * manifest says `minor_needed` above N. The previous major is supported for at least 24 months.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_VERSION_H
#define CPI_VERSION_H

#include <stddef.h>
#include <stdint.h>

#define CPI_ABI_MAJOR 1
#define CPI_ABI_MINOR 0

/*
 * Define CPI_TARGET_MINOR before the first include to build against an older minor: what was appended later is then
 * not declared, structs have the size they had, and a plugin cannot use by accident what an older host lacks.
 */
#ifndef CPI_TARGET_MINOR
#define CPI_TARGET_MINOR CPI_ABI_MINOR
#endif

/* Nullability is a clang attribute, the one extension used here; gcc reads these as nothing. */
#if defined(__clang__)
#define CPI_NULLABILITY(word)                                                                                        \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wnullability-extension\"") word            \
    _Pragma("clang diagnostic pop")
#define CPI_NULLABLE CPI_NULLABILITY(_Nullable)
#define CPI_NONNULL  CPI_NULLABILITY(_Nonnull)
#else
#define CPI_NULLABLE
#define CPI_NONNULL
#endif

#if defined(__cplusplus)
#define CPI_EXTERN extern "C"
#else
#define CPI_EXTERN extern
#endif

/* Makes the entry point visible in a plugin built with -fvisibility=hidden. */
#define CPI_EXPORT __attribute__((visibility("default")))

#endif
