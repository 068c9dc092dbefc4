/* work_rows.c - converts rows of any integer format to work rows, and back. SPDX-License-Identifier: Apache-2.0 */
#include "work_rows.h"

#include "vectors.h"

enum { GRAY = 1, GRAY_ALPHA = 2, RGB = 3, RGBA = 4, BGRA = 5, INK = 6 };
enum { STRAIGHT = 1, PREMULTIPLIED = 2 };

INLINED uint32_t sample(const uint8_t *row, uint64_t index, const uint32_t bits) {
    if (bits == 8) return row[index] * 257u;
    uint16_t value;
    memcpy(&value, row + 2 * index, 2);
    return value;
}

INLINED v4u four_samples(const uint8_t *row, uint64_t index, const uint32_t bits) {
    if (bits == 16) return load_work((const uint16_t *)(const void *)(row + 2 * index));
    v4b value;
    memcpy(&value, row + index, 4);
    return __builtin_convertvector(value, v4u) * 257u;
}

INLINED void load(const uint8_t *row, uint16_t *work, uint64_t count, const uint32_t channels, const uint32_t bits,
                  const uint32_t alpha) {
    for (uint64_t x = 0; x < count; x++) {
        v4u pixel;
        switch (channels) {
        case GRAY: {
            uint32_t value = sample(row, x, bits);
            pixel = (v4u){value, value, value, 65535};
            break;
        }
        case GRAY_ALPHA: {
            uint32_t value = sample(row, 2 * x, bits);
            pixel = (v4u){value, value, value, sample(row, 2 * x + 1, bits)};
            break;
        }
        case RGB:
            pixel = (v4u){sample(row, 3 * x, bits), sample(row, 3 * x + 1, bits), sample(row, 3 * x + 2, bits), 65535};
            break;
        case BGRA:
            pixel = four_samples(row, 4 * x, bits);
            pixel = __builtin_shufflevector(pixel, pixel, 2, 1, 0, 3);
            break;
        default: pixel = four_samples(row, 4 * x, bits);
        }
        if (alpha == STRAIGHT) {
            pixel = product(pixel, (v4u){pixel[3], pixel[3], pixel[3], 65535});
        } else if (alpha != PREMULTIPLIED && (channels == GRAY_ALPHA || channels == RGBA || channels == BGRA)) {
            pixel[3] = 65535;
        }
        store_work(work + 4 * x, pixel);
    }
}

INLINED void put(uint8_t *row, uint64_t index, uint32_t value, const uint32_t bits) {
    if (bits == 8) {
        row[index] = (uint8_t)value;
    } else {
        uint16_t narrow = (uint16_t)value;
        memcpy(row + 2 * index, &narrow, 2);
    }
}

INLINED void put_four(uint8_t *row, uint64_t index, v4u value, const uint32_t bits) {
    if (bits == 16) {
        store_work((uint16_t *)(void *)(row + 2 * index), value);
    } else {
        v4b narrow = __builtin_convertvector(value, v4b);
        memcpy(row + index, &narrow, 4);
    }
}

/* Sixteen bits to eight, rounded to nearest: exact for every value. */
INLINED v4u narrowed(v4u value, const uint32_t bits) { return bits == 8 ? (value * 255u + 32895u) >> 16 : value; }

INLINED v4u unpremultiplied(v4u pixel, const uint32_t bits) {
    uint32_t full = pixel[3];
    if (full == 65535) return narrowed(pixel, bits);
    v4u alpha = narrowed((v4u){full, full, full, full}, bits);
    if (alpha[3] == 0) return (v4u){0, 0, 0, 0};
    float most = bits == 8 ? 255.0f : 65535.0f, divisor = (float)full;
    v4f color = to_float(pixel) * most / (v4f){divisor, divisor, divisor, divisor};
    v4u result = to_fixed(smaller(color, (v4f){most, most, most, most}));
    return (v4u){result[0], result[1], result[2], alpha[3]};
}

INLINED void store(const uint16_t *work, uint8_t *row, uint64_t count, const uint32_t channels, const uint32_t bits,
                   const uint32_t alpha) {
    for (uint64_t x = 0; x < count; x++) {
        v4u pixel = load_work(work + 4 * x);
        if (alpha == STRAIGHT) {
            pixel = unpremultiplied(pixel, bits);
        } else {
            pixel = narrowed(pixel, bits);
            if (alpha != PREMULTIPLIED && channels != INK) pixel[3] = bits == 8 ? 255 : 65535;
        }
        switch (channels) {
        case GRAY: put(row, x, pixel[0], bits); break;
        case GRAY_ALPHA:
            put(row, 2 * x, pixel[0], bits);
            put(row, 2 * x + 1, pixel[3], bits);
            break;
        case RGB:
            put(row, 3 * x, pixel[0], bits);
            put(row, 3 * x + 1, pixel[1], bits);
            put(row, 3 * x + 2, pixel[2], bits);
            break;
        case BGRA: put_four(row, 4 * x, __builtin_shufflevector(pixel, pixel, 2, 1, 0, 3), bits); break;
        default: put_four(row, 4 * x, pixel, bits);
        }
    }
}

/* One loop without branches for each combination. */
#define ALPHAS(function, from, to, channels, bits)                                        \
    if (alpha == STRAIGHT) function(from, to, count, channels, bits, STRAIGHT);           \
    else if (alpha == PREMULTIPLIED) function(from, to, count, channels, bits, PREMULTIPLIED); \
    else function(from, to, count, channels, bits, 0);
#define DEPTHS(function, from, to, kind)                              \
    if (bits == 8) {                                                  \
        ALPHAS(function, from, to, kind, 8)                           \
    } else {                                                          \
        ALPHAS(function, from, to, kind, 16)                          \
    }                                                                 \
    break;
#define FORMATS(function, from, to)                                   \
    switch (channels) {                                               \
    case GRAY: DEPTHS(function, from, to, GRAY)                       \
    case GRAY_ALPHA: DEPTHS(function, from, to, GRAY_ALPHA)           \
    case RGB: DEPTHS(function, from, to, RGB)                         \
    case RGBA: DEPTHS(function, from, to, RGBA)                       \
    case BGRA: DEPTHS(function, from, to, BGRA)                       \
    default:                                                          \
        if (bits == 8) function(from, to, count, INK, 8, 0);          \
        else function(from, to, count, INK, 16, 0);                   \
    }

INLINED void load_any(const void *row, uint16_t *work, uint64_t count, uint32_t channels, uint32_t bits,
                      uint32_t alpha) {
    FORMATS(load, row, work)
}

INLINED void store_any(const uint16_t *work, void *row, uint64_t count, uint32_t channels, uint32_t bits,
                       uint32_t alpha) {
    FORMATS(store, work, row)
}

KERNEL(pixel_work_load, load_any,
       (const void *row, uint16_t *work, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha),
       (row, work, count, channels, bits, alpha))
KERNEL(pixel_work_store, store_any,
       (const uint16_t *work, void *row, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha),
       (work, row, count, channels, bits, alpha))
