/* shape_chunk.c - see shaper.h. SPDX-License-Identifier: Apache-2.0 */
#include "shaper.h"

#include "widest.h"

#include <string.h>

/* Fused additions would round differently, so results would depend on the processor. */
#pragma STDC FP_CONTRACT OFF

/*
 * One step at a time for all pixels of a chunk, so that the compiler can use vectors. Only the look-ups in tables go
 * pixel by pixel: both neighbors of a value are one load.
 */

typedef float plane[PIXEL_CHUNK];

PIXEL_INLINE float clamped(float value) { return value > 0 ? (value < 1 ? value : 1) : 0; }

/* The values between two samples of a table. */
PIXEL_INLINE void between(const float *table, const int32_t *at, const float *rest, float *out, uint64_t count) {
    float pairs[2 * PIXEL_CHUNK];
    for (uint64_t i = 0; i < count; i++) memcpy(pairs + 2 * i, table + at[i], 2 * sizeof(float));
    for (uint64_t i = 0; i < count; i++) out[i] = pairs[2 * i] + (pairs[2 * i + 1] - pairs[2 * i]) * rest[i];
}

PIXEL_INLINE void on_curve(const float *curve, const float *x, float *out, uint64_t count) {
    int32_t at[PIXEL_CHUNK];
    plane rest;
    for (uint64_t i = 0; i < count; i++) {
        const float position = x[i] * (PIXEL_CURVE_SAMPLES - 1);
        at[i] = (int32_t)position;
        rest[i] = position - (float)at[i];
    }
    between(curve, at, rest, out, count);
}

/* A table over octaves: the bits of a float are its logarithm, nearly. `start` are the bits of the first sample. */
PIXEL_INLINE void on_octaves(const float *table, const float *x, float *out, int32_t start, uint64_t count) {
    int32_t at[PIXEL_CHUNK];
    plane rest;
    for (uint64_t i = 0; i < count; i++) {
        int32_t bits;
        memcpy(&bits, x + i, 4);
        bits = bits > start ? bits - start : 0;
        at[i] = bits >> 15;
        rest[i] = (float)(bits & 0x7FFF) * 0x1p-15f;
    }
    between(table, at, rest, out, count);
}

PIXEL_INLINE void scale(plane *light, const float *factors, float unit, uint64_t count) {
    for (int c = 0; c < 3; c++)
        for (uint64_t i = 0; i < count; i++) light[c][i] *= factors[i] * unit;
}

PIXEL_INLINE void shape(const pixel_shaper *s, plane *color, uint64_t count) {
    plane light[3], sum, factors;
    for (int c = 0; c < 3; c++) on_curve(s->curves[c], color[c], light[c], count);
    if (s->has_ootf) {
        const float *l = s->luma;
        for (uint64_t i = 0; i < count; i++)
            sum[i] = clamped(light[0][i] * l[0] + light[1][i] * l[1] + light[2][i] * l[2]);
        on_octaves(s->ootf, sum, factors, 0x35800000, count); /* 2^-20 */
        scale(light, factors, s->ootf_scale, count);
    }
    if (s->has_tone) {
        for (uint64_t i = 0; i < count; i++) {
            float largest = light[0][i] > light[1][i] ? light[0][i] : light[1][i];
            largest = light[2][i] > largest ? light[2][i] : largest;
            sum[i] = clamped(largest);
        }
        on_octaves(s->tone, sum, factors, 0x35800000, count);
        scale(light, factors, 1, count);
    }
    const float *m = s->matrix;
    for (int c = 0; c < 3; c++, m += 3) {
        for (uint64_t i = 0; i < count; i++)
            sum[i] = clamped(m[0] * light[0][i] + m[1] * light[1][i] + m[2] * light[2][i]);
        on_octaves(s->encode, sum, color[c], 0x3B000000, count); /* 2^-9 */
        for (uint64_t i = 0; i < count; i++)
            color[c][i] = sum[i] <= s->linear_below ? sum[i] * s->linear_slope : color[c][i];
    }
}

/* ---- whole numbers without premultiplied alpha, as most images have ---- */

PIXEL_INLINE int is_plain(pixel_layout layout) {
    return !layout.is_float && layout.channels >= 3 && layout.channels <= 5 && layout.alpha != 2;
}

PIXEL_INLINE uint64_t step_of(pixel_layout layout) { return layout.channels == 3 ? 3 : 4; }

PIXEL_INLINE int red_of(pixel_layout layout) { return layout.channels == 5 ? 2 : 0; }

PIXEL_INLINE void split(const void *row, int32_t *out, uint64_t at, uint64_t step, uint64_t count, int32_t bits) {
    const uint8_t  *bytes = (const uint8_t *)row + at;
    const uint16_t *words = (const uint16_t *)row + at;
    if (bits == 8)
        for (uint64_t i = 0; i < count; i++) out[i] = bytes[step * i];
    else
        for (uint64_t i = 0; i < count; i++) out[i] = words[step * i];
}

PIXEL_INLINE void join(void *row, const int32_t *in, uint64_t at, uint64_t step, uint64_t count, int32_t bits) {
    uint8_t  *bytes = (uint8_t *)row + at;
    uint16_t *words = (uint16_t *)row + at;
    if (bits == 8)
        for (uint64_t i = 0; i < count; i++) bytes[step * i] = (uint8_t)in[i];
    else
        for (uint64_t i = 0; i < count; i++) words[step * i] = (uint16_t)in[i];
}

PIXEL_INLINE void load(const void *row, pixel_layout layout, uint64_t first, uint64_t count, plane *color, float *alpha) {
    const uint64_t step = step_of(layout);
    const float top = layout.bits == 8 ? 255.0f : 65535.0f;
    const int red = red_of(layout);
    int32_t values[PIXEL_CHUNK];
    for (int c = 0; c < 3; c++) {
        split(row, values, first * step + (uint64_t)(c == 1 ? 1 : c == 0 ? red : 2 - red), step, count, layout.bits);
        for (uint64_t i = 0; i < count; i++) color[c][i] = (float)values[i] / top;
    }
    if (step == 3 || layout.alpha == 3) {
        for (uint64_t i = 0; i < count; i++) alpha[i] = 1;
        return;
    }
    split(row, values, first * step + 3, step, count, layout.bits);
    for (uint64_t i = 0; i < count; i++) alpha[i] = (float)values[i] / top;
}

PIXEL_INLINE void store(
    void *row, pixel_layout layout, uint64_t first, uint64_t count, const plane *color, const float *alpha) {
    const uint64_t step = step_of(layout);
    const float top = layout.bits == 8 ? 255.0f : 65535.0f;
    const int red = red_of(layout);
    int32_t values[PIXEL_CHUNK];
    for (int c = 0; c < 3; c++) {
        for (uint64_t i = 0; i < count; i++) values[i] = (int32_t)(clamped(color[c][i]) * top + 0.5f);
        join(row, values, first * step + (uint64_t)(c == 1 ? 1 : c == 0 ? red : 2 - red), step, count, layout.bits);
    }
    if (step == 3) return;
    /* n / 255 is a multiple of 257 in 16 bits, so its high byte is n. */
    const int32_t shift = layout.bits == 8 ? 8 : 0;
    for (uint64_t i = 0; i < count; i++)
        values[i] = layout.alpha == 3 ? 65535 >> shift : (int32_t)(alpha[i] * 65535.0f + 0.5f) >> shift;
    join(row, values, first * step + 3, step, count, layout.bits);
}

PIXEL_INLINE void shaper_chunk_body(
    const pixel_shaper *s, const void *source, void *target, uint64_t first, uint64_t count) {
    plane color[3], alpha;
    float pixels[4 * PIXEL_CHUNK];
    const int is_read = is_plain(s->from), is_written = is_plain(s->to);
    if (is_read) {
        load(source, s->from, first, count, color, alpha);
    } else {
        pixel_unpack(source, s->from, first, count, pixels, alpha);
        for (int c = 0; c < 3; c++)
            for (uint64_t i = 0; i < count; i++) color[c][i] = pixels[4 * i + (uint64_t)c];
    }
    shape(s, color, count);
    if (is_written) {
        store(target, s->to, first, count, color, alpha);
    } else {
        for (int c = 0; c < 3; c++)
            for (uint64_t i = 0; i < count; i++) pixels[4 * i + (uint64_t)c] = color[c][i];
        pixel_pack(target, s->to, first, count, pixels, alpha);
    }
}
PIXEL_WIDEST(shaper_chunk,
    (const pixel_shaper *s, const void *source, void *target, uint64_t first, uint64_t count),
    (s, source, target, first, count))
