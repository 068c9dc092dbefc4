/*
 * png_convert.c - converts stored pixels to image pixels: any depth to 8 or 16 bits, palette and tRNS resolved.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* Reads samples of one byte or less (PNG 3rd edition, 7.2), times `scale`. */
static void unpack(uint8_t *to, const uint8_t *from, size_t width, unsigned depth, unsigned scale) {
    unsigned mask = (1u << depth) - 1, in_byte = 8 / depth;
    size_t x = 0;
    for (; x + in_byte <= width; x += in_byte, from++)
        for (unsigned i = 0, shift = 8; i < in_byte; i++) {
            shift -= depth;
            to[x + i] = (uint8_t)((*from >> shift & mask) * scale);
        }
    for (unsigned shift = 8; x < width; x++) {
        shift -= depth;
        to[x] = (uint8_t)((*from >> shift & mask) * scale);
    }
}

INLINE unsigned sample(const uint8_t *p, unsigned i, unsigned bits) {
    return bits == 16 ? (unsigned)p[2 * i] << 8 | p[2 * i + 1] : p[i];
}

/* Takes the upper half of 16 bits for 8; never the reverse. */
INLINE void put(uint8_t *p, unsigned i, unsigned bits, unsigned value, unsigned from_bits) {
    if (bits == 16) {
        uint16_t whole = (uint16_t)value;
        memcpy(p + 2 * i, &whole, 2);
    } else
        p[i] = (uint8_t)(value >> (from_bits - 8));
}

INLINE void each(uint8_t *to, const uint8_t *from, size_t width, unsigned channels, unsigned bits, unsigned to_channels,
                 unsigned to_bits, const uint16_t *key) {
    unsigned colors = channels < 3 ? 1 : 3, to_colors = to_channels < 3 ? 1 : 3, opaque = (1u << bits) - 1;
    for (size_t x = 0; x < width; x++, from += channels * bits / 8, to += to_channels * to_bits / 8) {
        unsigned s[3], alpha = opaque, differs = 0;
        for (unsigned i = 0; i < colors; i++) s[i] = sample(from, i, bits);
        if (channels > colors) alpha = sample(from, colors, bits);
        if (key) {
            for (unsigned i = 0; i < colors; i++) differs |= s[i] ^ key[i];
            alpha = differs ? opaque : 0;
        }
        for (unsigned i = 0; i < to_colors; i++) put(to, i, to_bits, s[colors == 1 ? 0 : i], bits);
        if (to_channels > to_colors) put(to, to_colors, to_bits, alpha, bits);
    }
}

INLINE void direct(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width, unsigned channels,
                   unsigned bits, unsigned to_channels, unsigned to_bits) {
    if (channels == to_channels && bits == to_bits && bits == 8)
        memcpy(to, from, width * channels);
    else if (c->has_key && channels != 2 && channels != 4)
        each(to, from, width, channels, bits, to_channels, to_bits, c->key);
    else
        each(to, from, width, channels, bits, to_channels, to_bits, NULL);
}

INLINE void with_bits(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width, unsigned channels,
                      unsigned to_channels, unsigned bits) {
    if (bits == 8)
        direct(c, to, from, width, channels, 8, to_channels, 8);
    else if (c->to_bits == 8)
        direct(c, to, from, width, channels, 16, to_channels, 8);
    else
        direct(c, to, from, width, channels, 16, to_channels, 16);
}

INLINE void with_channels(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width, unsigned channels,
                          unsigned bits) {
    switch (c->to_channels) {
        case 1: with_bits(c, to, from, width, channels, 1, bits); break;
        case 2: with_bits(c, to, from, width, channels, 2, bits); break;
        case 3: with_bits(c, to, from, width, channels, 3, bits); break;
        default: with_bits(c, to, from, width, channels, 4, bits); break;
    }
}

/* Converts RGB to RGBA, four bytes at a time; reads one byte behind the row. */
static void add_alpha_plain(uint8_t *to, const uint8_t *from, size_t width) {
    static const uint8_t opaque[4] = {0, 0, 0, 0xFF};
    uint32_t alpha;
    memcpy(&alpha, opaque, 4);
    for (size_t x = 0; x < width; x++) {
        uint32_t pixel;
        memcpy(&pixel, from + 3 * x, 4);
        pixel |= alpha;
        memcpy(to + 4 * x, &pixel, 4);
    }
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* The same, four pixels at a time, with byte shuffles; reads four bytes behind the row. */
INLINE void add_alpha_four(uint8_t *to, const uint8_t *from, size_t width) {
    const bytes16 alpha = {0, 0, 0, 0xFF, 0, 0, 0, 0xFF, 0, 0, 0, 0xFF, 0, 0, 0, 0xFF};
    size_t x = 0;
    for (; x + 4 <= width; x += 4) {
        bytes16 v;
        memcpy(&v, from + 3 * x, 16);
        v = __builtin_shufflevector(v, v, 0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11) | alpha;
        memcpy(to + 4 * x, &v, 16);
    }
    add_alpha_plain(to + 4 * x, from + 3 * x, width - x);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_alpha_avx2(uint8_t *to, const uint8_t *from, size_t width) {
    add_alpha_four(to, from, width);
}

static void add_alpha(uint8_t *to, const uint8_t *from, size_t width) {
    (__builtin_cpu_supports("avx2") ? add_alpha_avx2 : add_alpha_plain)(to, from, width);
}
#else
static void add_alpha(uint8_t *to, const uint8_t *from, size_t width) { add_alpha_four(to, from, width); }
#endif

static void resolve(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width) {
    if (c->to_channels == 4)
        for (size_t x = 0; x < width; x++) memcpy(to + 4 * x, c->palette[from[x]], 4);
    else
        for (size_t x = 0; x < width; x++) memcpy(to + 3 * x, c->palette[from[x]], 3);
}

void png_convert(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width, uint8_t *indices) {
    unsigned bits = c->depth == 16 ? 16 : 8, is_palette = c->color_type == 3;
    if (c->depth < 8) {
        /* 255 is a multiple of the largest sample of 1, 2 and 4 bits. */
        unpack(indices, from, width, c->depth, is_palette ? 1 : 255u / ((1u << c->depth) - 1));
        from = indices;
    }
    switch (c->color_type) {
        case 0: with_channels(c, to, from, width, 1, bits); break;
        case 2:
            if (bits == 8 && c->to_channels == 4 && !c->has_key)
                add_alpha(to, from, width);
            else
                with_channels(c, to, from, width, 3, bits);
            break;
        case 3: resolve(c, to, from, width); break;
        case 4: with_channels(c, to, from, width, 2, bits); break;
        default: with_channels(c, to, from, width, 4, bits); break;
    }
}
