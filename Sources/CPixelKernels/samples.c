/* samples.c - stored samples to numbers and back. SPDX-License-Identifier: Apache-2.0 */
#include "pixel_color.h"

#include <string.h>

typedef struct places {
    int count, color[4], alpha;
} places;

static places places_of(int32_t channels) {
    switch (channels) {
    case 1: return (places){1, {0, 0, 0, -1}, -1};
    case 2: return (places){2, {0, 0, 0, -1}, 1};
    case 3: return (places){3, {0, 1, 2, -1}, -1};
    case 4: return (places){4, {0, 1, 2, -1}, 3};
    case 5: return (places){4, {2, 1, 0, -1}, 3};
    default: return (places){4, {0, 1, 2, 3}, -1};
    }
}

/* NaN becomes 0, because comparisons with it are false. */
static inline float clamped(float value) {
    return value > 0 ? (value < 1 ? value : 1) : 0;
}

static inline float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static float from_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 1023;
    if (exponent == 31) return from_bits(sign | 0x7F800000 | mantissa << 13);
    if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

/* Converts 0 ... 1 to a half float, to nearest, ties to even. */
static uint16_t to_half(float value) {
    uint32_t bits;
    if (value < 0x1p-14f) {
        /* The sum's last bit is 2^-24, like that of a subnormal half. */
        float sum = value + 0.5f;
        memcpy(&bits, &sum, 4);
        return (uint16_t)(bits - 0x3F000000);
    }
    memcpy(&bits, &value, 4);
    bits -= 112u << 23;
    bits += 0xFFF + (bits >> 13 & 1);
    return (uint16_t)(bits >> 13);
}

static inline float load(const void *row, pixel_layout layout, uint64_t index) {
    if (layout.bits == 8) return (float)((const uint8_t *)row)[index] / 255.0f;
    if (layout.bits == 16) {
        uint16_t value;
        memcpy(&value, (const uint8_t *)row + 2 * index, 2);
        return layout.is_float ? from_half(value) : (float)value / 65535.0f;
    }
    float value;
    memcpy(&value, (const uint8_t *)row + 4 * index, 4);
    return value;
}

static inline void save(void *row, pixel_layout layout, uint64_t index, float value) {
    if (layout.bits == 8) {
        ((uint8_t *)row)[index] = (uint8_t)(value * 255.0f + 0.5f);
    } else if (layout.bits == 16) {
        uint16_t stored = layout.is_float ? to_half(value) : (uint16_t)(value * 65535.0f + 0.5f);
        memcpy((uint8_t *)row + 2 * index, &stored, 2);
    } else {
        memcpy((uint8_t *)row + 4 * index, &value, 4);
    }
}

void pixel_unpack(const void *row, pixel_layout layout, uint64_t first, uint64_t count, float *color, float *alpha) {
    const places p = places_of(layout.channels);
    for (uint64_t x = 0; x < count; x++, color += 4) {
        const uint64_t base = (first + x) * (uint64_t)p.count;
        float a = p.alpha < 0 || layout.alpha == 3 ? 1 : clamped(load(row, layout, base + (uint64_t)p.alpha));
        const float divisor = layout.alpha == 2 ? a : 1;
        for (int c = 0; c < 3; c++) {
            float value = load(row, layout, base + (uint64_t)p.color[c]);
            color[c] = divisor == 1 ? clamped(value) : divisor > 0 ? clamped(value / divisor) : 0;
        }
        color[3] = p.color[3] < 0 ? 0 : clamped(load(row, layout, base + 3));
        alpha[x] = a;
    }
}

void pixel_pack(
    void *row, pixel_layout layout, uint64_t first, uint64_t count, const float *color, const float *alpha
) {
    const places p = places_of(layout.channels);
    const int colors = layout.channels <= 2 ? 1 : layout.channels == 6 ? 4 : 3;
    for (uint64_t x = 0; x < count; x++, color += 4) {
        const uint64_t base = (first + x) * (uint64_t)p.count;
        const float factor = layout.alpha == 2 ? alpha[x] : 1;
        for (int c = 0; c < colors; c++)
            save(row, layout, base + (uint64_t)p.color[c], clamped(color[c] * factor));
        if (p.alpha < 0) continue;
        if (layout.alpha == 3) {
            save(row, layout, base + (uint64_t)p.alpha, 1);
        } else if (layout.bits == 8) {
            /* n / 255 is a multiple of 257 here, so its high byte is n. */
            ((uint8_t *)row)[base + (uint64_t)p.alpha] = (uint8_t)((uint32_t)(alpha[x] * 65535.0f + 0.5f) >> 8);
        } else {
            save(row, layout, base + (uint64_t)p.alpha, alpha[x]);
        }
    }
}

void pixel_to_samples(const float *color, uint64_t count, int32_t channels, int32_t is_float, void *samples) {
    const float unit = channels == 4 ? 100 : 1;
    uint16_t *words = samples;
    float *floats = samples;
    for (uint64_t x = 0; x < count; x++, color += 4)
        for (int c = 0; c < channels; c++)
            if (is_float) *floats++ = color[c] * unit;
            else *words++ = (uint16_t)(color[c] * 65535.0f + 0.5f);
}

void pixel_from_samples(const void *samples, uint64_t count, int32_t channels, int32_t is_float, float *color) {
    const float unit = channels == 4 ? 0.01f : 1;
    const uint16_t *words = samples;
    const float *floats = samples;
    for (uint64_t x = 0; x < count; x++, color += 4) {
        color[1] = color[2] = color[3] = 0;
        for (int c = 0; c < channels; c++)
            color[c] = is_float ? clamped(*floats++ * unit) : (float)*words++ / 65535.0f;
        if (channels == 1) color[1] = color[2] = color[0];
    }
}
