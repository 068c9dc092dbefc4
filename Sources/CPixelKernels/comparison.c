/*
 * comparison.c - differences, and structural similarity.
 *
 * The loops are written once and compiled for each instruction set. Operations are neither reordered nor contracted: a
 * result does not depend on the register width, and float sums use eight lanes everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "comparison_kernels.h"

#pragma STDC FP_CONTRACT OFF

#define ALWAYS static inline __attribute__((always_inline))

/* Z. Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004: K1 = 0.01,
   K2 = 0.03, L = 255. */
#define C1 (0.01f * 255.0f * 0.01f * 255.0f)
#define C2 (0.03f * 255.0f * 0.03f * 255.0f)
/* The value subtracted from samples in a plane. */
#define MIDDLE 127.5f

ALWAYS uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
ALWAYS uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

ALWAYS void premultiply8(uint8_t *row, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        uint32_t alpha = row[4 * x + 3];
        for (int channel = 0; channel < 3; channel++) {
            /* Exactly (value + 127) / 255 for every product of two bytes. */
            uint32_t value = row[4 * x + channel] * alpha + 128;
            row[4 * x + channel] = (uint8_t)((value + (value >> 8)) >> 8);
        }
    }
}

ALWAYS void premultiply16(uint16_t *row, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        uint32_t alpha = row[4 * x + 3];
        for (int channel = 0; channel < 3; channel++) {
            row[4 * x + channel] = (uint16_t)((row[4 * x + channel] * alpha + 32767u) / 65535u);
        }
    }
}

/* 32-bit sums are flushed before they can overflow: 255 * 255 * 65536 fits. */
#define CHUNK8 65536

ALWAYS void difference8(const uint8_t *a, const uint8_t *b, uint64_t count, struct pixel_row_difference *result) {
    for (uint64_t start = 0; start < count; start += CHUNK8) {
        uint64_t end = start + CHUNK8 < count ? start + CHUNK8 : count;
        uint32_t absolute[4] = {0}, squared[4] = {0}, differing = 0, maximum = 0, alpha = 255;
        for (uint64_t x = start; x < end; x++) {
            uint32_t any = 0;
            for (int channel = 0; channel < 4; channel++) {
                uint32_t d = distance(a[4 * x + channel], b[4 * x + channel]);
                absolute[channel] += d;
                squared[channel] += d * d;
                maximum = larger(maximum, d);
                any |= d;
            }
            differing += any != 0;
            alpha &= a[4 * x + 3] & b[4 * x + 3];
        }
        for (int channel = 0; channel < 4; channel++) {
            result->absolute[channel] += absolute[channel];
            result->squared[channel] += squared[channel];
        }
        result->differing += differing;
        result->maximum = larger(result->maximum, maximum);
        result->has_alpha |= alpha != 255;
    }
}

ALWAYS void difference16(const uint16_t *a, const uint16_t *b, uint64_t count, struct pixel_row_difference *result) {
    uint64_t absolute[4] = {0}, squared[4] = {0}, differing = 0;
    uint32_t maximum = 0, alpha = 65535;
    for (uint64_t x = 0; x < count; x++) {
        uint32_t any = 0;
        for (int channel = 0; channel < 4; channel++) {
            uint32_t d = distance(a[4 * x + channel], b[4 * x + channel]);
            absolute[channel] += d;
            squared[channel] += d * d;
            maximum = larger(maximum, d);
            any |= d;
        }
        differing += any != 0;
        alpha &= a[4 * x + 3] & b[4 * x + 3];
    }
    for (int channel = 0; channel < 4; channel++) {
        result->absolute[channel] += absolute[channel];
        result->squared[channel] += squared[channel];
    }
    result->differing += differing;
    result->maximum = larger(result->maximum, maximum);
    result->has_alpha |= alpha != 65535;
}

ALWAYS void plane8(const uint8_t *row, uint32_t channel, uint64_t count, float *plane) {
    for (uint64_t x = 0; x < count; x++) plane[x] = (float)row[4 * x + channel] - MIDDLE;
}

ALWAYS void plane16(const uint16_t *row, uint32_t channel, uint64_t count, float *plane) {
    for (uint64_t x = 0; x < count; x++) plane[x] = (float)row[4 * x + channel] * (1.0f / 257.0f) - MIDDLE;
}

/* out[x] = the sum of weights[t] * in[x + t * step]; the same order of additions in every variant. */
ALWAYS void filter(const float *restrict in, const float *weights, uint32_t taps, uint64_t step, uint64_t count,
                   float *restrict out) {
    if (taps == 11) { /* nearly always; the terms stay in registers */
        for (uint64_t x = 0; x < count; x++) {
            float sum = weights[0] * in[x];
            for (int tap = 1; tap < 11; tap++) sum += weights[tap] * in[x + tap * step];
            out[x] = sum;
        }
        return;
    }
    for (uint64_t x = 0; x < count; x++) {
        float sum = weights[0] * in[x];
        for (uint32_t tap = 1; tap < taps; tap++) sum += weights[tap] * in[x + tap * step];
        out[x] = sum;
    }
}

ALWAYS void moments(const float *restrict a, const float *restrict b, const float *weights, uint32_t taps,
                    uint64_t count, float *restrict result, float *restrict scratch) {
    uint64_t width = count + taps - 1;
    float *squares = scratch, *products = scratch + width;
    for (uint64_t x = 0; x < width; x++) {
        squares[x] = a[x] * a[x] + b[x] * b[x];
        products[x] = a[x] * b[x];
    }
    filter(a, weights, taps, 1, count, result);
    filter(b, weights, taps, 1, count, result + count);
    filter(squares, weights, taps, 1, count, result + 2 * count);
    filter(products, weights, taps, 1, count, result + 3 * count);
}

/* The number of windows whose means fit in the L1 cache; a multiple of the lane count. */
#define BLOCK 256

/* Computes one mean for a block: the sum over the ring's slots. */
ALWAYS void gather(const float *restrict ring, uint64_t slot, uint32_t first, const float *weights, uint32_t taps,
                   uint64_t count, float *restrict out) {
    for (uint32_t tap = 0; tap < taps; tap++) {
        const float *restrict row = ring + (first + tap) % taps * slot;
        float weight = weights[tap];
        if (tap == 0) {
            for (uint64_t x = 0; x < count; x++) out[x] = weight * row[x];
        } else {
            for (uint64_t x = 0; x < count; x++) out[x] += weight * row[x];
        }
    }
}

ALWAYS double ssim_sum(const float *ring, uint32_t first, const float *weights, uint32_t taps, uint64_t count) {
    float mean_a[BLOCK], mean_b[BLOCK], squares[BLOCK], products[BLOCK], result[BLOCK];
    double lanes[8] = {0};
    uint64_t slot = 4 * count;
    for (uint64_t start = 0; start < count; start += BLOCK) {
        uint64_t here = count - start < BLOCK ? count - start : BLOCK;
        gather(ring + start, slot, first, weights, taps, here, mean_a);
        gather(ring + count + start, slot, first, weights, taps, here, mean_b);
        gather(ring + 2 * count + start, slot, first, weights, taps, here, squares);
        gather(ring + 3 * count + start, slot, first, weights, taps, here, products);
        for (uint64_t x = 0; x < here; x++) {
            float a = mean_a[x], b = mean_b[x];
            /* Variances do not depend on the shift; means do. */
            float covariance = products[x] - a * b, variances = squares[x] - (a * a + b * b);
            float c = a + MIDDLE, d = b + MIDDLE;
            result[x] =
                ((2.0f * (c * d) + C1) * (2.0f * covariance + C2)) / ((c * c + d * d + C1) * (variances + C2));
        }
        uint64_t x = 0;
        for (; x + 8 <= here; x += 8) {
            for (int lane = 0; lane < 8; lane++) lanes[lane] += (double)result[x + lane];
        }
        for (int lane = 0; x < here; x++, lane++) lanes[lane] += (double)result[x];
    }
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

ALWAYS void image8(const uint8_t *a, const uint8_t *b, uint32_t gain, uint64_t count, uint8_t *rgb) {
    for (uint64_t x = 0; x < count; x++) {
        uint32_t alpha = distance(a[4 * x + 3], b[4 * x + 3]);
        for (int channel = 0; channel < 3; channel++) {
            uint32_t value = larger(alpha, distance(a[4 * x + channel], b[4 * x + channel])) * gain;
            rgb[3 * x + channel] = (uint8_t)(value > 255 ? 255 : value);
        }
    }
}

ALWAYS void image16(const uint16_t *a, const uint16_t *b, uint32_t gain, uint64_t count, uint16_t *rgb) {
    for (uint64_t x = 0; x < count; x++) {
        uint64_t alpha = distance(a[4 * x + 3], b[4 * x + 3]);
        for (int channel = 0; channel < 3; channel++) {
            uint64_t value = distance(a[4 * x + channel], b[4 * x + channel]);
            value = (value > alpha ? value : alpha) * gain;
            rgb[3 * x + channel] = (uint16_t)(value > 65535 ? 65535 : value);
        }
    }
}

/* Defines a portable function, its AVX2 variant, and the selection at run time. */
static int portable_only = 0;
void pixel_comparison_force_portable(int portable) { portable_only = portable; }

#if defined(__x86_64__)
#define HAS_AVX2 (!portable_only && __builtin_cpu_supports("avx2"))
#define VARIANTS(type, name, parameters, body)                                                                         \
    __attribute__((target("avx2"))) static type name##_avx2 parameters { body; }                                       \
    static type name##_portable parameters { body; }
#define CHOOSE(name, arguments) (HAS_AVX2 ? name##_avx2 arguments : name##_portable arguments)
#else
#define VARIANTS(type, name, parameters, body)                                                                         \
    static type name##_portable parameters { body; }
#define CHOOSE(name, arguments) (name##_portable arguments)
#endif

#define KERNEL(name, parameters, body, arguments)                                                                      \
    VARIANTS(void, name, parameters, body)                                                                             \
    void name parameters { CHOOSE(name, arguments); }

KERNEL(pixel_premultiply_rgba8, (uint8_t * row, uint64_t count), premultiply8(row, count), (row, count))
KERNEL(pixel_premultiply_rgba16, (uint16_t * row, uint64_t count), premultiply16(row, count), (row, count))
KERNEL(pixel_row_difference8,
       (const uint8_t *a, const uint8_t *b, uint64_t count, struct pixel_row_difference *result),
       difference8(a, b, count, result), (a, b, count, result))
KERNEL(pixel_row_difference16,
       (const uint16_t *a, const uint16_t *b, uint64_t count, struct pixel_row_difference *result),
       difference16(a, b, count, result), (a, b, count, result))
KERNEL(pixel_plane8, (const uint8_t *row, uint32_t channel, uint64_t count, float *plane),
       plane8(row, channel, count, plane), (row, channel, count, plane))
KERNEL(pixel_plane16, (const uint16_t *row, uint32_t channel, uint64_t count, float *plane),
       plane16(row, channel, count, plane), (row, channel, count, plane))
KERNEL(pixel_ssim_moments,
       (const float *a, const float *b, const float *weights, uint32_t taps, uint64_t count, float *result,
        float *scratch),
       moments(a, b, weights, taps, count, result, scratch), (a, b, weights, taps, count, result, scratch))
KERNEL(pixel_difference_rgb8, (const uint8_t *a, const uint8_t *b, uint32_t gain, uint64_t count, uint8_t *rgb),
       image8(a, b, gain, count, rgb), (a, b, gain, count, rgb))
KERNEL(pixel_difference_rgb16, (const uint16_t *a, const uint16_t *b, uint32_t gain, uint64_t count, uint16_t *rgb),
       image16(a, b, gain, count, rgb), (a, b, gain, count, rgb))

VARIANTS(double, pixel_ssim_sum,
         (const float *ring, uint32_t first, const float *weights, uint32_t taps, uint64_t count),
         return ssim_sum(ring, first, weights, taps, count))
double pixel_ssim_sum(const float *ring, uint32_t first, const float *weights, uint32_t taps, uint64_t count) {
    return CHOOSE(pixel_ssim_sum, (ring, first, weights, taps, count));
}
