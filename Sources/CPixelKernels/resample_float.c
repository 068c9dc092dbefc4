/* resample_float.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "resample_float.h"

#include "widest.h"

#include <math.h>
#include <string.h>

#pragma STDC FP_CONTRACT OFF

/* MARK: Samples */

PIXEL_INLINE float half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t exponent = (half >> 10) & 31;
    const uint32_t fraction = half & 1023;
    uint32_t bits;
    float value;
    if (exponent == 0) {
        value = (float)fraction * 0x1p-24f;
        memcpy(&bits, &value, 4);
        bits |= sign;
    } else {
        bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    }
    memcpy(&value, &bits, 4);
    return value;
}

/* Rounds to nearest, ties to even. */
PIXEL_INLINE uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;
    if (bits >= 0x477ff000) return sign | 0x7c00;
    if (bits < 0x38800000) {
        /* Below the normal numbers of a half: adding 0.5 leaves steps of 2^-24 at the end of the fraction. */
        float small;
        memcpy(&small, &bits, 4);
        small += 0.5f;
        memcpy(&bits, &small, 4);
        return sign | (uint16_t)(bits - 0x3f000000);
    }
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits - 0x38000000) >> 13);
}

PIXEL_INLINE float sample_at(const uint8_t *source, uint64_t index, int32_t sample) {
    switch (sample) {
    case PIXEL_SAMPLE_8: return (float)source[index] * (1.0f / 255);
    case PIXEL_SAMPLE_16: {
        uint16_t value;
        memcpy(&value, source + 2 * index, 2);
        return (float)value * (1.0f / 65535);
    }
    case PIXEL_SAMPLE_HALF: {
        uint16_t value;
        memcpy(&value, source + 2 * index, 2);
        return half_to_float(value);
    }
    default: {
        float value;
        memcpy(&value, source + 4 * index, 4);
        return value;
    }
    }
}

/* NaN becomes the lower bound. */
PIXEL_INLINE float between(float value, float low, float high) {
    value = value > low ? value : low;
    return value < high ? value : high;
}

PIXEL_INLINE void put_sample(uint8_t *target, uint64_t index, int32_t sample, float value) {
    switch (sample) {
    case PIXEL_SAMPLE_8: target[index] = (uint8_t)(between(value, 0, 1) * 255 + 0.5f); return;
    case PIXEL_SAMPLE_16: {
        const uint16_t word = (uint16_t)(between(value, 0, 1) * 65535 + 0.5f);
        memcpy(target + 2 * index, &word, 2);
        return;
    }
    case PIXEL_SAMPLE_HALF: {
        const uint16_t half = half_from_float(value);
        memcpy(target + 2 * index, &half, 2);
        return;
    }
    default: memcpy(target + 4 * index, &value, 4);
    }
}

/* Interpolates linearly; outside 0...1, which only floats reach, the curve's end is extended. */
PIXEL_INLINE float through(const float *curve, float value) {
    const float at = between(value, 0, 1) * PIXEL_CURVE_STEPS;
    const uint32_t index = at < PIXEL_CURVE_STEPS ? (uint32_t)at : PIXEL_CURVE_STEPS - 1;
    const float part = at - (float)index;
    const float inside = curve[index] + (curve[index + 1] - curve[index]) * part;
    if (value > 1) return 1 + (value - 1) * (curve[PIXEL_CURVE_STEPS] - curve[PIXEL_CURVE_STEPS - 1]) * PIXEL_CURVE_STEPS;
    if (value < 0) return value * (curve[1] - curve[0]) * PIXEL_CURVE_STEPS;
    return inside;
}

/* MARK: In and out */

PIXEL_INLINE void load_pixels(
    const uint8_t *source, float *target, uint64_t width, int32_t sample, int32_t channels, int32_t alpha,
    int32_t colors, const float *curve) {
    for (uint64_t x = 0; x < width; x++, target += channels) {
        for (int32_t c = 0; c < channels; c++) target[c] = sample_at(source, x * (uint64_t)channels + (uint64_t)c, sample);
        const float full = alpha == PIXEL_ALPHA_NONE ? 1 : target[channels - 1];
        if (curve) {
            const float divisor = alpha == PIXEL_ALPHA_PREMULTIPLIED && full > 0 ? 1 / full : 1;
            for (int32_t c = 0; c < colors; c++) target[c] = through(curve, target[c] * divisor) * full;
        } else if (alpha == PIXEL_ALPHA_STRAIGHT) {
            for (int32_t c = 0; c < channels - 1; c++) target[c] *= full;
        }
    }
}

/* Loads bytes through a curve, with a table of 256 entries. */
PIXEL_INLINE void load_bytes_through(
    const uint8_t *source, float *target, uint64_t width, int32_t channels, int32_t alpha, int32_t colors,
    const float *light) {
    for (uint64_t x = 0; x < width; x++, source += channels, target += channels) {
        const float last = (float)source[channels - 1] * (1.0f / 255);
        const float full = alpha == PIXEL_ALPHA_STRAIGHT ? last : 1;
        for (int32_t c = 0; c < colors; c++) target[c] = light[source[c]] * full;
        if (colors < channels) target[channels - 1] = last;
    }
}

PIXEL_INLINE void store_pixels(
    const float *source, uint8_t *target, uint64_t width, int32_t sample, int32_t channels, int32_t alpha,
    int32_t colors, const float *curve, int is_opaque) {
    const int is_float = sample == PIXEL_SAMPLE_HALF || sample == PIXEL_SAMPLE_FLOAT;
    /* Alpha below half an integer step rounds to 0, so the color becomes 0 too. */
    const float least = sample == PIXEL_SAMPLE_8 ? 0.5f / 255 : sample == PIXEL_SAMPLE_16 ? 0.5f / 65535 : 0x1p-20f;
    for (uint64_t x = 0; x < width; x++, source += channels) {
        float pixel[4];
        for (int32_t c = 0; c < channels; c++) pixel[c] = source[c];
        if (alpha != PIXEL_ALPHA_NONE) {
            /* If alpha overshoots 1, the color overshoots by the same factor. */
            const float seen = pixel[channels - 1] < least ? 0 : pixel[channels - 1];
            const float full = between(seen, 0, 1);
            const int divides = alpha == PIXEL_ALPHA_STRAIGHT || curve;
            const float factor = !(seen > 0) ? 0 : divides ? 1 / seen : full / seen;
            for (int32_t c = 0; c < channels - 1; c++) {
                float value = pixel[c] * factor;
                if (!is_float) value = between(value, 0, divides ? 1 : full);
                if (curve) value = through(curve, value);
                if (curve && alpha == PIXEL_ALPHA_PREMULTIPLIED) value *= full;
                pixel[c] = value;
            }
            pixel[channels - 1] = full;
        } else if (curve) {
            for (int32_t c = 0; c < colors; c++) pixel[c] = through(curve, pixel[c]);
        }
        if (is_opaque) pixel[channels - 1] = 1;
        for (int32_t c = 0; c < channels; c++) put_sample(target, x * (uint64_t)channels + (uint64_t)c, sample, pixel[c]);
    }
}

/* One loop for each format, to avoid branches per pixel. */
#define EACH_SAMPLE(call, channels, alpha)                           \
    switch (format->sample) {                                        \
    case PIXEL_SAMPLE_8: call(PIXEL_SAMPLE_8, channels, alpha);      \
    case PIXEL_SAMPLE_16: call(PIXEL_SAMPLE_16, channels, alpha);    \
    case PIXEL_SAMPLE_HALF: call(PIXEL_SAMPLE_HALF, channels, alpha); \
    default: call(PIXEL_SAMPLE_FLOAT, channels, alpha);              \
    }
#define EACH_ALPHA(call, channels)                                                  \
    switch (format->alpha) {                                                        \
    case PIXEL_ALPHA_OPAQUE:                                                        \
    case PIXEL_ALPHA_NONE: EACH_SAMPLE(call, channels, PIXEL_ALPHA_NONE)            \
    case PIXEL_ALPHA_STRAIGHT: EACH_SAMPLE(call, channels, PIXEL_ALPHA_STRAIGHT)    \
    default: EACH_SAMPLE(call, channels, PIXEL_ALPHA_PREMULTIPLIED)                 \
    }
#define EACH_FORMAT(call)                             \
    switch (format->channels) {                       \
    case 1: EACH_SAMPLE(call, 1, PIXEL_ALPHA_NONE)    \
    case 2: EACH_ALPHA(call, 2)                       \
    case 3: EACH_SAMPLE(call, 3, PIXEL_ALPHA_NONE)    \
    default: EACH_ALPHA(call, 4)                      \
    }

PIXEL_INLINE void pixel_float_load_body(
    const void *source, float *target, uint64_t width, const pixel_row_format *format, const float *curve) {
#define LOAD(s, c, a) load_pixels(source, target, width, s, c, a, format->colors, 0); return
    if (curve) {
        const int32_t alpha = format->alpha == PIXEL_ALPHA_OPAQUE ? PIXEL_ALPHA_NONE : format->alpha;
        if (format->sample == PIXEL_SAMPLE_8 && alpha != PIXEL_ALPHA_PREMULTIPLIED) {
            float light[256];
            for (int32_t i = 0; i < 256; i++) light[i] = through(curve, (float)i * (1.0f / 255));
            if (format->channels == 3) load_bytes_through(source, target, width, 3, PIXEL_ALPHA_NONE, 3, light);
            else if (format->channels == 4) load_bytes_through(source, target, width, 4, alpha, 3, light);
            else load_bytes_through(source, target, width, format->channels, alpha, format->colors, light);
            return;
        }
        load_pixels(source, target, width, format->sample, format->channels, alpha, format->colors, curve);
        return;
    }
    EACH_FORMAT(LOAD)
}
PIXEL_WIDEST(pixel_float_load,
    (const void *source, float *target, uint64_t width, const pixel_row_format *format, const float *curve),
    (source, target, width, format, curve))

PIXEL_INLINE void pixel_float_store_body(
    const float *source, void *target, uint64_t width, const pixel_row_format *format, const float *curve) {
#define STORE(s, c, a) store_pixels(source, target, width, s, c, a, format->colors, 0, is_opaque); return
    const int is_opaque = format->alpha == PIXEL_ALPHA_OPAQUE;
    if (curve) {
        const int32_t alpha = is_opaque ? PIXEL_ALPHA_NONE : format->alpha;
        store_pixels(
            source, target, width, format->sample, format->channels, alpha, format->colors, curve, is_opaque);
        return;
    }
    EACH_FORMAT(STORE)
}
PIXEL_WIDEST(pixel_float_store,
    (const float *source, void *target, uint64_t width, const pixel_row_format *format, const float *curve),
    (source, target, width, format, curve))

void pixel_float_add_bins(const float *source, float *sums, uint64_t width, int32_t channels, uint64_t factor) {
    for (uint64_t x = 0, left = factor; x < width; x++, source += channels) {
        for (int32_t c = 0; c < channels; c++) sums[c] += source[c];
        if (--left == 0) {
            left = factor;
            sums += channels;
        }
    }
}

/* MARK: Weights */

/* The number of columns processed together, so that sums stay in the L1 cache. */
#define BLOCK 512

PIXEL_INLINE void pixel_float_weigh_down_body(
    const float *ring, uint64_t stride, uint64_t slots, uint64_t first, const float *weights, uint64_t count,
    float *target, uint64_t samples) {
    for (uint64_t from = 0; from < samples; from += BLOCK) {
        const uint64_t length = samples - from < BLOCK ? samples - from : BLOCK;
        float *const sums = target + from;
        for (uint64_t x = 0; x < length; x++) sums[x] = 0;
        for (uint64_t r = 0; r < count; r++) {
            const float *const row = ring + (first + r) % slots * stride + from;
            const float weight = weights[r];
            for (uint64_t x = 0; x < length; x++) sums[x] += row[x] * weight;
        }
    }
}
PIXEL_WIDEST(pixel_float_weigh_down,
    (const float *ring, uint64_t stride, uint64_t slots, uint64_t first, const float *weights, uint64_t count,
     float *target, uint64_t samples),
    (ring, stride, slots, first, weights, count, target, samples))

PIXEL_INLINE void weigh_across(
    const float *source, float *target, uint64_t width, int32_t channels, const int32_t *starts, const float *weights,
    uint64_t taps) {
    for (uint64_t x = 0; x < width; x++, weights += taps, target += channels) {
        const float *pixel = source + (int64_t)starts[x] * channels;
        float sums[4] = {0, 0, 0, 0};
        for (uint64_t t = 0; t < taps; t++, pixel += channels) {
            for (int32_t c = 0; c < channels; c++) sums[c] += pixel[c] * weights[t];
        }
        for (int32_t c = 0; c < channels; c++) target[c] = sums[c];
    }
}

PIXEL_INLINE void pixel_float_weigh_across_body(
    const float *source, float *target, uint64_t width, int32_t channels, const int32_t *starts, const float *weights,
    uint64_t taps) {
    switch (channels) {
    case 1: weigh_across(source, target, width, 1, starts, weights, taps); return;
    case 2: weigh_across(source, target, width, 2, starts, weights, taps); return;
    case 3: weigh_across(source, target, width, 3, starts, weights, taps); return;
    default: weigh_across(source, target, width, 4, starts, weights, taps);
    }
}
PIXEL_WIDEST(pixel_float_weigh_across,
    (const float *source, float *target, uint64_t width, int32_t channels, const int32_t *starts,
     const float *weights, uint64_t taps),
    (source, target, width, channels, starts, weights, taps))
