/* matrix.c - see pixel_color.h. SPDX-License-Identifier: Apache-2.0 */
#include "shaper.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Fused additions would round differently, so results would depend on the processor. */
#pragma STDC FP_CONTRACT OFF

typedef int32_t indices __attribute__((vector_size(16)));

static inline float clamped(float value) {
    return value > 0 ? (value < 1 ? value : 1) : 0;
}

static inline float on_curve(const float *curve, float x) {
    float position = x * (PIXEL_CURVE_SAMPLES - 1);
    int index = (int)position;
    return curve[index] + (curve[index + 1] - curve[index]) * (position - (float)index);
}

/* A table over octaves: the bits of a float are its logarithm, nearly. */
static inline float on_octaves(const float *table, float x, uint32_t start, int shift) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (bits <= start) return table[0];
    bits -= start;
    const uint32_t index = bits >> shift;
    const float rest = (float)(bits & ((1u << shift) - 1)) / (float)(1u << shift);
    return table[index] + (table[index + 1] - table[index]) * rest;
}

/* 2^-9 and 2^-20 as bits. */
static inline float encoded(const pixel_shaper *s, float light) {
    if (light <= s->linear_below) return light * s->linear_slope;
    return on_octaves(s->encode, light, 0x3B000000, 15);
}

static inline float toned(const float *table, float x) { return on_octaves(table, x, 0x35800000, 15); }

static inline void shape(const pixel_shaper *s, float *color) {
    float light[3];
    for (int c = 0; c < 3; c++) light[c] = on_curve(s->curves[c], color[c]);
    if (s->has_ootf) {
        float luma = light[0] * s->luma[0] + light[1] * s->luma[1] + light[2] * s->luma[2];
        float factor = toned(s->ootf, clamped(luma)) * s->ootf_scale;
        for (int c = 0; c < 3; c++) light[c] *= factor;
    }
    if (s->has_tone) {
        float largest = light[0] > light[1] ? light[0] : light[1];
        if (light[2] > largest) largest = light[2];
        float factor = toned(s->tone, clamped(largest));
        for (int c = 0; c < 3; c++) light[c] *= factor;
    }
    const float *m = s->matrix;
    for (int c = 0; c < 3; c++, m += 3)
        color[c] = encoded(s, clamped(m[0] * light[0] + m[1] * light[1] + m[2] * light[2]));
}

static int is_byte_rgb(pixel_layout layout) {
    return layout.bits == 8 && layout.channels >= 3 && layout.channels <= 5 && layout.alpha != 2;
}

pixel_shaper *pixel_shaper_create(const pixel_shape *shape_, pixel_layout from, pixel_layout to) {
    pixel_shaper *s = aligned_alloc(64, (sizeof *s + 63) & ~(size_t)63);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->from = from;
    s->to = to;
    for (int c = 0; c < 3; c++) {
        memcpy(s->curves[c], shape_->curves + c * PIXEL_CURVE_SAMPLES, PIXEL_CURVE_SAMPLES * sizeof(float));
        s->curves[c][PIXEL_CURVE_SAMPLES] = s->curves[c][PIXEL_CURVE_SAMPLES - 1];
    }
    memcpy(s->matrix, shape_->matrix, sizeof s->matrix);
    memcpy(s->encode, shape_->encode, PIXEL_ENCODE_SAMPLES * sizeof(float));
    s->encode[PIXEL_ENCODE_SAMPLES] = s->encode[PIXEL_ENCODE_SAMPLES - 1];
    memcpy(s->encode8, shape_->encode8, sizeof s->encode8);
    s->linear_below = shape_->linear_below;
    s->linear_slope = shape_->linear_slope;
    if (shape_->tone) {
        s->has_tone = 1;
        memcpy(s->tone, shape_->tone, PIXEL_TONE_SAMPLES * sizeof(float));
        s->tone[PIXEL_TONE_SAMPLES] = s->tone[PIXEL_TONE_SAMPLES - 1];
    }
    if (shape_->ootf) {
        s->has_ootf = 1;
        memcpy(s->ootf, shape_->ootf, PIXEL_TONE_SAMPLES * sizeof(float));
        s->ootf[PIXEL_TONE_SAMPLES] = s->ootf[PIXEL_TONE_SAMPLES - 1];
        s->ootf_scale = shape_->ootf_scale;
        memcpy(s->luma, shape_->luma, sizeof s->luma);
    }
    s->is_gray = from.channels <= 2;
    s->has_fast = is_byte_rgb(from) && is_byte_rgb(to) && !s->has_tone && !s->has_ootf;
    if (s->has_fast) {
        const float top = PIXEL_ENCODE8_SAMPLES - 1;
        for (int c = 0; c < 3; c++)
            for (int value = 0; value < 256; value++) {
                const float light = on_curve(s->curves[c], (float)value / 255.0f) * top;
                for (int row = 0; row < 3; row++) {
                    const int place = to.channels == 5 ? 2 - row : row;
                    /* Red includes half a step, so that truncation rounds to nearest. */
                    s->parts[c][value][place] = s->matrix[3 * row + c] * light + (c == 0 ? 0.5f : 0);
                }
            }
    }
    if (s->is_gray && from.channels == 1 && from.bits == 8)
        for (int value = 0; value < 256; value++) {
            float color[4] = {(float)value / 255.0f, (float)value / 255.0f, (float)value / 255.0f, 0};
            shape(s, color);
            s->gray8[value] = (uint8_t)(color[0] * 255.0f + 0.5f);
        }
    return s;
}

void pixel_shaper_free(pixel_shaper *shaper) { free(shaper); }

/* Table positions of three samples, 16 bits each. */
static inline uint64_t positions(lanes sum) {
    const float top = PIXEL_ENCODE8_SAMPLES - 1;
#if defined(__SSE2__)
    __m128 inside = _mm_max_ps(_mm_min_ps((__m128)sum, _mm_set1_ps(top)), _mm_setzero_ps());
    __m128i whole = _mm_cvttps_epi32(inside);
    return (uint64_t)_mm_cvtsi128_si64(_mm_packs_epi32(whole, whole));
#else
    uint64_t result = 0;
    for (int c = 0; c < 3; c++) {
        float value = sum[c] < top ? sum[c] : top;
        result |= (uint64_t)(value > 0 ? value : 0) << 16 * c;
    }
    return result;
#endif
}

static inline __attribute__((always_inline)) void shape8(
    const pixel_shaper *s, const uint8_t *source, uint8_t *target, uint64_t count, int from, int to, int red
) {
    const lanes *r = s->parts[0], *g = s->parts[1], *b = s->parts[2];
    const uint8_t *table = s->encode8;
    const int blue = 2 - red, isFull = s->from.channels == 3 || s->from.alpha == 3 || s->to.alpha == 3;
    for (; count > 0; count--, source += from, target += to) {
        const uint64_t at = positions(r[source[red]] + g[source[1]] + b[source[blue]]);
        const uint8_t first = table[at & 0xFFFF], second = table[at >> 16 & 0xFFFF], third = table[at >> 32 & 0xFFFF];
        if (to == 4) {
            const uint8_t alpha = from == 4 && !isFull ? source[3] : 255;
            target[3] = alpha;
        }
        target[0] = first;
        target[1] = second;
        target[2] = third;
    }
}

static void fast(const pixel_shaper *s, const uint8_t *source, uint8_t *target, uint64_t count) {
    const int from = s->from.channels == 3 ? 3 : 4, to = s->to.channels == 3 ? 3 : 4;
    if (s->from.channels == 5) {
        if (to == 4) shape8(s, source, target, count, 4, 4, 2);
        else shape8(s, source, target, count, 4, 3, 2);
    } else if (from == 3) {
        if (to == 3) shape8(s, source, target, count, 3, 3, 0);
        else shape8(s, source, target, count, 3, 4, 0);
    } else {
        if (to == 4) shape8(s, source, target, count, 4, 4, 0);
        else shape8(s, source, target, count, 4, 3, 0);
    }
}

void pixel_shaper_row(const pixel_shaper *s, const void *source, void *target, uint64_t count) {
    if (s->has_fast) {
        fast(s, source, target, count);
        return;
    }
    if (s->from.channels == 1 && s->from.bits == 8 && s->to.channels == 1 && s->to.bits == 8) {
        const uint8_t *in = source;
        uint8_t *out = target;
        for (uint64_t x = 0; x < count; x++) out[x] = s->gray8[in[x]];
        return;
    }
    for (uint64_t x = 0; x < count; x += PIXEL_CHUNK)
        shaper_chunk(s, source, target, x, count - x < PIXEL_CHUNK ? count - x : PIXEL_CHUNK);
}
