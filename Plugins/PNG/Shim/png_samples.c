/*
 * png_samples.c - converts pixels to stored rows, and finds redundant samples.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_samples.h"

#include <stddef.h>
#include <string.h>

/* ---- stored rows ---- */

uint64_t pngshim_packed_bytes(const pngshim_packing *p) {
    if (p->depth) return ((uint64_t)p->width * p->depth + 7) / 8;
    return (uint64_t)p->width * p->file_channels * (p->narrow ? 1u : p->sample_bytes);
}

static void pack_bits(const pngshim_packing *p, const uint8_t *from, uint8_t *to) {
    unsigned bits = 0, fill = 0;
    if (p->depth == 8) {
        for (uint32_t x = 0; x < p->width; x++) to[x] = p->values[from[x]];
        return;
    }
    for (uint32_t x = 0; x < p->width; x++) {
        bits = bits << p->depth | p->values[from[x]];
        fill += p->depth;
        if (fill < 8) continue;
        *to++ = (uint8_t)bits;
        fill = 0;
    }
    if (fill) *to = (uint8_t)(bits << (8 - fill));
}

/* Returns the source channel of a stored channel. */
static unsigned origin(const pngshim_packing *p, unsigned channel) {
    unsigned colors = p->channels < 3 ? 1 : 3, file_colors = p->file_channels < 3 ? 1 : 3;
    return channel < file_colors ? channel : colors;
}

static inline __attribute__((always_inline)) void pack_bytes(const pngshim_packing *p, const uint8_t *from, uint8_t *to,
                                                            unsigned in, unsigned out) {
    unsigned last = origin(p, out - 1);
    for (uint32_t x = 0; x < p->width; x++, from += in, to += out) {
        for (unsigned i = 0; i + 1 < out; i++) to[i] = from[i];
        to[out - 1] = from[last];
    }
}

static void pack_words(const pngshim_packing *p, const uint8_t *from, uint8_t *to) {
    for (uint32_t x = 0; x < p->width; x++, from += 2 * p->channels)
        for (unsigned i = 0; i < p->file_channels; i++) {
            uint16_t value;
            memcpy(&value, from + 2 * origin(p, i), 2);
            *to++ = (uint8_t)(value >> 8);
            if (!p->narrow) *to++ = (uint8_t)value;
        }
}

static void pack_row(const pngshim_packing *p, const uint8_t *from, uint8_t *to) {
    if (p->depth) {
        pack_bits(p, from, to);
    } else if (p->sample_bytes == 2) {
        pack_words(p, from, to);
    } else if (p->channels == p->file_channels) {
        memcpy(to, from, (size_t)p->width * p->channels);
    } else {
        switch (p->channels << 4 | p->file_channels) {
            case 0x21: pack_bytes(p, from, to, 2, 1); break;
            case 0x31: pack_bytes(p, from, to, 3, 1); break;
            case 0x41: pack_bytes(p, from, to, 4, 1); break;
            case 0x42: pack_bytes(p, from, to, 4, 2); break;
            default: pack_bytes(p, from, to, 4, 3);
        }
    }
}

void pngshim_pack_rows(const pngshim_packing *p, const uint8_t *pixels, uint64_t stride, uint32_t rows,
                       uint8_t *stored) {
    uint64_t bytes = pngshim_packed_bytes(p);
    for (uint32_t y = 0; y < rows; y++) pack_row(p, pixels + y * stride, stored + y * bytes);
}

/* ---- redundant samples ---- */

static unsigned sample(const uint8_t *at, unsigned index, unsigned bytes) {
    uint16_t value;
    if (bytes == 1) return at[index];
    memcpy(&value, at + 2 * index, 2);
    return value;
}

void pngshim_key_find(pngshim_key *k, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                      uint8_t channels, uint8_t sample_bytes) {
    unsigned colors = channels - 1u, full = sample_bytes == 1 ? 0xFF : 0xFFFF;
    for (uint32_t y = 0; y < rows && k->is_possible; y++, pixels += stride) {
        const uint8_t *at = pixels;
        for (uint32_t x = 0; x < width; x++, at += (size_t)channels * sample_bytes) {
            unsigned alpha = sample(at, colors, sample_bytes), differs = 0;
            if (alpha == full) continue;
            for (unsigned i = 0; i < colors; i++) {
                unsigned value = sample(at, i, sample_bytes);
                if (!k->is_known) k->color[i] = (uint16_t)value;
                differs |= value ^ k->color[i];
            }
            k->is_known = 1;
            if (alpha || differs) k->is_possible = 0;
        }
    }
}

void pngshim_key_check(pngshim_key *k, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                       uint8_t channels, uint8_t sample_bytes) {
    unsigned colors = channels - 1u;
    for (uint32_t y = 0; y < rows && k->is_possible; y++, pixels += stride) {
        const uint8_t *at = pixels;
        for (uint32_t x = 0; x < width; x++, at += (size_t)channels * sample_bytes) {
            unsigned differs = 0;
            for (unsigned i = 0; i < colors; i++) differs |= sample(at, i, sample_bytes) ^ k->color[i];
            if (!differs && sample(at, colors, sample_bytes)) k->is_possible = 0;
        }
    }
}

void pngshim_values_add(uint8_t is_used[256], const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                        uint8_t channels) {
    for (uint32_t y = 0; y < rows; y++, pixels += stride)
        for (uint32_t x = 0; x < width; x++) is_used[pixels[(size_t)x * channels]] = 1;
}

void pngshim_neighbors_add(uint32_t *counts, const uint8_t *indices, uint64_t stride, uint32_t width, uint32_t rows) {
    for (uint32_t y = 0; y < rows; y++) {
        const uint8_t *row = indices + y * stride;
        for (uint32_t x = 0; x < width; x++) {
            unsigned value = row[x];
            for (int above = 0; above < 2; above++) {
                if (above ? y == 0 : x == 0) continue;
                unsigned other = above ? row[(ptrdiff_t)x - (ptrdiff_t)stride] : row[x - 1];
                if (value != other) counts[value < other ? 256 * value + other : 256 * other + value]++;
            }
        }
    }
}
