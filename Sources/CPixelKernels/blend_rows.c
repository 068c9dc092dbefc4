/* blend_rows.c - blends work rows. SPDX-License-Identifier: Apache-2.0 */
#include "blend_rows.h"

#include <math.h>

#include "vectors.h"

INLINED v4u alphas(v4u pixel) { return __builtin_shufflevector(pixel, pixel, 3, 3, 3, 3); }
INLINED v4f splat(float value) { return (v4f){value, value, value, value}; }

/*
 * Blends one pixel: source S and backdrop D with the alphas s and d, premultiplied, 0 ... 1.
 *
 * The first half are the Porter-Duff operators ("Compositing Digital Images", 1984). The second half are the blending
 * functions B of the W3C ("Compositing and Blending Level 1", section 10.1) as S(1 - d) + D(1 - s) + s d B(D/d, S/s).
 */
INLINED v4f blended(v4f S, v4f D, v4f s, v4f d, const uint32_t mode) {
    const v4f zero = splat(0), one = splat(1);
    v4f outside = S * (one - d) + D * (one - s);
    switch (mode) {
    case PIXEL_BLEND_CLEAR: return zero;
    case PIXEL_BLEND_COPY: return S;
    case PIXEL_BLEND_SOURCE_IN: return S * d;
    case PIXEL_BLEND_SOURCE_OUT: return S * (one - d);
    case PIXEL_BLEND_SOURCE_ATOP: return S * d + D * (one - s);
    case PIXEL_BLEND_DESTINATION_OVER: return S * (one - d) + D;
    case PIXEL_BLEND_DESTINATION_IN: return D * s;
    case PIXEL_BLEND_DESTINATION_OUT: return D * (one - s);
    case PIXEL_BLEND_DESTINATION_ATOP: return S * (one - d) + D * s;
    case PIXEL_BLEND_XOR: return outside;
    case PIXEL_BLEND_PLUS_LIGHTER: return smaller(one, S + D);
    case PIXEL_BLEND_PLUS_DARKER: {
        v4f alpha = smaller(one, s + d);
        v4f dark = larger(zero, alpha - ((d - D) + (s - S)));
        dark[3] = alpha[3];
        return dark;
    }
    case PIXEL_BLEND_MULTIPLY: return outside + S * D;
    case PIXEL_BLEND_SCREEN: return S + D - S * D;
    case PIXEL_BLEND_OVERLAY:
        return outside + chosen(D + D <= d, 2 * S * D, s * d - 2 * (d - D) * (s - S));
    case PIXEL_BLEND_HARD_LIGHT:
        return outside + chosen(S + S <= s, 2 * S * D, s * d - 2 * (d - D) * (s - S));
    case PIXEL_BLEND_DARKEN: return outside + smaller(S * d, D * s);
    case PIXEL_BLEND_LIGHTEN: return outside + larger(S * d, D * s);
    /* In these two modes the alpha is computed separately from the color. */
    case PIXEL_BLEND_DIFFERENCE:
    case PIXEL_BLEND_EXCLUSION: {
        v4f result = S + D - 2 * (mode == PIXEL_BLEND_DIFFERENCE ? smaller(S * d, D * s) : S * D);
        result[3] = s[3] + d[3] - s[3] * d[3];
        return result;
    }
    default: break;
    }
    /* Unpremultiplied colors. Those of a transparent pixel have no effect, because s d is 0. */
    v4f cs = S / chosen(s > zero, s, one), cb = D / chosen(d > zero, d, one), B;
    switch (mode) {
    case PIXEL_BLEND_COLOR_DODGE: {
        v4f light = chosen(cs < one, cb / chosen(cs < one, one - cs, one), one);
        B = chosen(cb > zero, smaller(one, light), zero);
        break;
    }
    case PIXEL_BLEND_COLOR_BURN: {
        v4f dark = chosen(cs > zero, (one - cb) / chosen(cs > zero, cs, one), one);
        B = chosen(cb < one, one - smaller(one, dark), one);
        break;
    }
    default: { /* soft light */
        v4f root = {sqrtf(cb[0]), sqrtf(cb[1]), sqrtf(cb[2]), 1};
        v4f g = chosen(cb <= splat(0.25f), ((16 * cb - 12) * cb + 4) * cb, root);
        B = chosen(cs <= splat(0.5f), cb - (one - 2 * cs) * cb * (one - cb), cb + (2 * cs - one) * (g - cb));
    }
    }
    v4f result = outside + s * d * B;
    result[3] = s[3] + d[3] - s[3] * d[3];
    return result;
}

INLINED void blend_loop(uint16_t *backdrop, const uint16_t *source, uint64_t count, const uint32_t mode) {
    const float unit = 1.0f / 65535.0f;
    for (uint64_t x = 0; x < count; x++) {
        v4f S = to_float(load_work(source + 4 * x)) * unit, D = to_float(load_work(backdrop + 4 * x)) * unit;
        v4f s = splat(S[3]), d = splat(D[3]);
        v4f result = blended(S, D, s, d, mode);
        result = larger(splat(0), smaller(splat(1), result));
        /* Rounding must not make a color brighter than its alpha allows. */
        v4u fixed = to_fixed(result * 65535.0f), most = alphas(fixed);
        v4u over = (v4u)(fixed > most);
        store_work(backdrop + 4 * x, (fixed & ~over) | (most & over));
    }
}

INLINED void normal(uint16_t *backdrop, const uint16_t *source, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        v4u S = load_work(source + 4 * x);
        if (S[3] == 65535) {
            store_work(backdrop + 4 * x, S);
        } else if (S[3] != 0) {
            store_work(backdrop + 4 * x, S + product(load_work(backdrop + 4 * x), 65535u - alphas(S)));
        }
    }
}

#define MODE(mode) \
    case mode: blend_loop(backdrop, source, count, mode); break;

INLINED void blend_any(uint16_t *backdrop, const uint16_t *source, uint64_t count, uint32_t mode) {
    switch (mode) {
    case PIXEL_BLEND_NORMAL: normal(backdrop, source, count); break;
    MODE(PIXEL_BLEND_CLEAR)
    MODE(PIXEL_BLEND_COPY)
    MODE(PIXEL_BLEND_SOURCE_IN)
    MODE(PIXEL_BLEND_SOURCE_OUT)
    MODE(PIXEL_BLEND_SOURCE_ATOP)
    MODE(PIXEL_BLEND_DESTINATION_OVER)
    MODE(PIXEL_BLEND_DESTINATION_IN)
    MODE(PIXEL_BLEND_DESTINATION_OUT)
    MODE(PIXEL_BLEND_DESTINATION_ATOP)
    MODE(PIXEL_BLEND_XOR)
    MODE(PIXEL_BLEND_PLUS_LIGHTER)
    MODE(PIXEL_BLEND_PLUS_DARKER)
    MODE(PIXEL_BLEND_MULTIPLY)
    MODE(PIXEL_BLEND_SCREEN)
    MODE(PIXEL_BLEND_OVERLAY)
    MODE(PIXEL_BLEND_DARKEN)
    MODE(PIXEL_BLEND_LIGHTEN)
    MODE(PIXEL_BLEND_COLOR_DODGE)
    MODE(PIXEL_BLEND_COLOR_BURN)
    MODE(PIXEL_BLEND_SOFT_LIGHT)
    MODE(PIXEL_BLEND_HARD_LIGHT)
    MODE(PIXEL_BLEND_DIFFERENCE)
    default: blend_loop(backdrop, source, count, PIXEL_BLEND_EXCLUSION);
    }
}

INLINED void cover(uint16_t *work, const uint16_t *coverage, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        if (coverage[x] == 65535) continue;
        uint32_t part = coverage[x];
        store_work(work + 4 * x, product(load_work(work + 4 * x), (v4u){part, part, part, part}));
    }
}

INLINED void mix(uint16_t *work, const uint16_t *other, const uint16_t *coverage, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        uint32_t part = coverage[x], rest = 65535 - part;
        v4u sum = load_work(work + 4 * x) * (v4u){rest, rest, rest, rest} +
                  load_work(other + 4 * x) * (v4u){part, part, part, part} + 32768u;
        store_work(work + 4 * x, (sum + (sum >> 16)) >> 16);
    }
}

INLINED void color_matrix(uint16_t *work, uint64_t count, const float *matrix) {
    v4f red = {matrix[0], matrix[4], matrix[8], 0}, green = {matrix[1], matrix[5], matrix[9], 0};
    v4f blue = {matrix[2], matrix[6], matrix[10], 0}, added = {matrix[3], matrix[7], matrix[11], 1};
    for (uint64_t x = 0; x < count; x++) {
        v4f pixel = to_float(load_work(work + 4 * x)), alpha = splat(pixel[3]);
        v4f result = pixel[0] * red + pixel[1] * green + pixel[2] * blue + alpha * added;
        store_work(work + 4 * x, to_fixed(larger(splat(0), smaller(alpha, result))));
    }
}

INLINED uint32_t curved(uint32_t color, uint32_t alpha, const uint16_t *table) {
    if (alpha == 65535) return table[color];
    if (alpha == 0) return 0;
    uint32_t straight = (uint32_t)(((uint64_t)color * 65535 + alpha / 2) / alpha);
    return (uint32_t)(((uint64_t)table[straight < 65535 ? straight : 65535] * alpha + 32767) / 65535);
}

void pixel_color_curve(uint16_t *work, uint64_t count, const uint16_t *table) {
    for (uint64_t x = 0; x < 4 * count; x += 4) {
        uint32_t alpha = work[x + 3];
        for (int i = 0; i < 3; i++) work[x + i] = (uint16_t)curved(work[x + i], alpha, table);
    }
}

INLINED v4f pixel_at(const uint16_t *image, uint64_t stride, int64_t width, int64_t height, int64_t x, int64_t y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return splat(0);
    return to_float(load_work((const uint16_t *)(const void *)((const uint8_t *)image + (uint64_t)y * stride) + 4 * x));
}

INLINED void sample_line(const uint16_t *image, uint64_t stride, int64_t width, int64_t height, double x, double y,
                         double step_x, double step_y, uint64_t start, uint16_t *work, uint64_t count) {
    for (uint64_t i = start; i < start + count; i++) {
        /* Computed from the first sample each time, because a running sum would drift. */
        double at_x = x + (double)i * step_x - 0.5, at_y = y + (double)i * step_y - 0.5;
        v4u result = {0, 0, 0, 0};
        if (at_x > -1 && at_y > -1 && at_x < (double)width && at_y < (double)height) {
            int64_t left = (int64_t)(at_x + 1) - 1, top = (int64_t)(at_y + 1) - 1;
            float right_part = (float)(at_x - (double)left), bottom_part = (float)(at_y - (double)top);
            v4f a, b, c, d;
            if (left >= 0 && top >= 0 && left + 1 < width && top + 1 < height) {
                const uint16_t *first = (const uint16_t *)(const void *)((const uint8_t *)image + (uint64_t)top * stride) + 4 * left;
                const uint16_t *second = (const uint16_t *)(const void *)((const uint8_t *)first + stride);
                a = to_float(load_work(first));
                b = to_float(load_work(first + 4));
                c = to_float(load_work(second));
                d = to_float(load_work(second + 4));
            } else {
                a = pixel_at(image, stride, width, height, left, top);
                b = pixel_at(image, stride, width, height, left + 1, top);
                c = pixel_at(image, stride, width, height, left, top + 1);
                d = pixel_at(image, stride, width, height, left + 1, top + 1);
            }
            v4f upper = a + (b - a) * right_part, lower = c + (d - c) * right_part;
            result = to_fixed(upper + (lower - upper) * bottom_part);
        }
        store_work(work + 4 * (i - start), result);
    }
}

KERNEL(pixel_blend, blend_any, (uint16_t * backdrop, const uint16_t *source, uint64_t count, uint32_t mode),
       (backdrop, source, count, mode))
KERNEL(pixel_cover, cover, (uint16_t * work, const uint16_t *coverage, uint64_t count), (work, coverage, count))
KERNEL(pixel_mix, mix, (uint16_t * work, const uint16_t *other, const uint16_t *coverage, uint64_t count),
       (work, other, coverage, count))
KERNEL(pixel_color_matrix, color_matrix, (uint16_t * work, uint64_t count, const float matrix[12]),
       (work, count, matrix))
KERNEL(pixel_sample_line, sample_line,
       (const uint16_t *image, uint64_t stride, int64_t width, int64_t height, double x, double y, double step_x,
        double step_y, uint64_t start, uint16_t *work, uint64_t count),
       (image, stride, width, height, x, y, step_x, step_y, start, work, count))
