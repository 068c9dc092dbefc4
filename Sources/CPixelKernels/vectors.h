/*
 * vectors.h - small vectors and the selection of loop variants, for the transform kernels.
 *
 * A loop is written once as an inline function and compiled twice. Arithmetic uses integers and IEEE floats without
 * contraction, so both variants give the same bits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_VECTORS_H
#define PIXEL_VECTORS_H

#include <stdint.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

#define INLINED static inline __attribute__((always_inline))

typedef uint8_t v4b __attribute__((vector_size(4)));
typedef uint16_t v4h __attribute__((vector_size(8)));
typedef uint32_t v4u __attribute__((vector_size(16)));
typedef int32_t v4i __attribute__((vector_size(16)));
typedef float v4f __attribute__((vector_size(16)));
typedef uint16_t v8h __attribute__((vector_size(16)));
typedef int32_t v8i __attribute__((vector_size(32)));
typedef float v8f __attribute__((vector_size(32)));

/* Defines `name` with the given parameters, as the fastest variant of `body`, called with the given arguments. */
#if defined(__x86_64__)
#define KERNEL(name, body, parameters, arguments)                                        \
    __attribute__((target("avx2"))) static void name##_avx2 parameters { body arguments; } \
    static void name##_base parameters { body arguments; }                               \
    void name parameters {                                                               \
        if (__builtin_cpu_supports("avx2")) name##_avx2 arguments;                       \
        else name##_base arguments;                                                      \
    }
#else
#define KERNEL(name, body, parameters, arguments) \
    void name parameters { body arguments; }
#endif

INLINED v4u load_work(const uint16_t *at) {
    v4h value;
    memcpy(&value, at, sizeof value);
    return __builtin_convertvector(value, v4u);
}

INLINED void store_work(uint16_t *at, v4u value) {
    v4h narrow = __builtin_convertvector(value, v4h);
    memcpy(at, &narrow, sizeof narrow);
}

/* A product of two 16-bit fractions as a fraction, rounded to nearest: exact for every pair. */
INLINED v4u product(v4u a, v4u b) {
    v4u sum = a * b + 32768u;
    return (sum + (sum >> 16)) >> 16;
}

INLINED v4f to_float(v4u value) { return __builtin_convertvector((v4i)value, v4f); }

/* Rounds non-negative values to nearest. */
INLINED v4u to_fixed(v4f value) { return (v4u)__builtin_convertvector(value + 0.5f, v4i); }

INLINED v4f smaller(v4f a, v4f b) {
    v4i mask = a < b;
    return (v4f)(((v4i)a & mask) | ((v4i)b & ~mask));
}

INLINED v4f larger(v4f a, v4f b) {
    v4i mask = a > b;
    return (v4f)(((v4i)a & mask) | ((v4i)b & ~mask));
}

INLINED v4f chosen(v4i mask, v4f a, v4f b) { return (v4f)(((v4i)a & mask) | ((v4i)b & ~mask)); }

#endif
