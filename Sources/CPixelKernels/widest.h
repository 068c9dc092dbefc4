/*
 * widest.h - compiles a function body twice and runs the wider variant if the processor supports it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WIDEST_H
#define WIDEST_H

#define PIXEL_INLINE static inline __attribute__((always_inline))

/* Defines `name` from the inline function `name_body`. */
#if defined(__x86_64__)
#define PIXEL_WIDEST(name, parameters, arguments)                                                  \
    static __attribute__((target("avx2"))) void name##_avx2 parameters { name##_body arguments; } \
    static void name##_plain parameters { name##_body arguments; }                                \
    void name parameters {                                                                        \
        if (__builtin_cpu_supports("avx2")) name##_avx2 arguments;                                \
        else name##_plain arguments;                                                              \
    }
#else
#define PIXEL_WIDEST(name, parameters, arguments) \
    void name parameters { name##_body arguments; }
#endif

#endif
