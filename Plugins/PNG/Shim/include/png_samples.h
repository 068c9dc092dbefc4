/*
 * png_samples.h - pixels become rows as a PNG stores them; and which smaller samples would say the same.
 *
 * Samples of 16 bits are in native order in pixels, and big endian in stored rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_SAMPLES_H
#define PNG_SAMPLES_H

#include <stdint.h>

#include "png_pack.h"

/* ---- stored rows ---- */

typedef struct pngshim_packing {
    uint32_t width;
    uint8_t  channels;      /* of the pixels, 1 ... 4                                                               */
    uint8_t  sample_bytes;  /* of the pixels, 1 or 2                                                                */
    uint8_t  file_channels; /* at most as many: alpha goes; of one or two instead of three or four the first color stays */
    uint8_t  narrow;        /* samples of 2 bytes lose the lower one                                                */
    uint8_t  depth;         /* 1 ... 8 where the only channel has samples of a byte: bits of a stored sample; else 0    */
    uint8_t  values[256];   /* with a depth: what is stored for each sample                                         */
} pngshim_packing;

/* Bytes of a stored row. */
uint64_t pngshim_packed_bytes(const pngshim_packing *packing);
/* Writes `rows` stored rows, one behind the other. */
void     pngshim_pack_rows(const pngshim_packing *packing, const uint8_t *pixels, uint64_t stride, uint32_t rows,
                           uint8_t *stored);

/* ---- what samples need ---- */

/* The transparent pixels of a picture with alpha. */
typedef struct pngshim_key {
    uint8_t  is_possible; /* alpha is nothing or full, and one color, which no other pixel has, is transparent */
    uint8_t  is_known;
    uint16_t color[3];
} pngshim_key;

/* Finds the color of the transparent pixels. Starts with `is_possible`. */
void pngshim_key_find(pngshim_key *key, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                      uint8_t channels, uint8_t sample_bytes);
/* Takes the key out where an opaque pixel has the same color; when all rows were looked at. */
void pngshim_key_check(pngshim_key *key, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                       uint8_t channels, uint8_t sample_bytes);

/* Marks which values the first sample of each pixel, of one byte, has. */
void pngshim_values_add(uint8_t is_used[256], const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                        uint8_t channels);

/* How often an index stands beside another one, to the left or above: `counts[256 * a + b]`, with a < b. */
void pngshim_neighbours_add(uint32_t *counts, const uint8_t *indices, uint64_t stride, uint32_t width, uint32_t rows);

#endif
