/*
 * png_samples.h - converts pixels to stored rows of a PNG; finds smaller equivalent samples.
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
    uint8_t  file_channels; /* at most as many: drops alpha; 1 or 2 of three or four: keeps the first color */
    uint8_t  narrow;        /* samples of 2 bytes lose the lower one                                                */
    uint8_t  depth;         /* with one channel of bytes: bits of a stored sample, 1 ... 8; else 0                  */
    uint8_t  values[256];   /* with a depth: the stored value of each sample                                        */
} pngshim_packing;

/* Returns the bytes of a stored row. */
uint64_t pngshim_packed_bytes(const pngshim_packing *packing);
/* Writes `rows` stored rows, adjacent in memory. */
void     pngshim_pack_rows(const pngshim_packing *packing, const uint8_t *pixels, uint64_t stride, uint32_t rows,
                           uint8_t *stored);

/* ---- redundant samples ---- */

/* The transparent pixels of an image with alpha. */
typedef struct pngshim_key {
    uint8_t  is_possible; /* alpha is 0 or opaque, and the transparent pixels have one color that no other has */
    uint8_t  is_known;
    uint16_t color[3];
} pngshim_key;

/* Finds the color of the transparent pixels. Start with `is_possible` set. */
void pngshim_key_find(pngshim_key *key, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                      uint8_t channels, uint8_t sample_bytes);
/* Clears `is_possible` if an opaque pixel has the same color; call it after all rows were read. */
void pngshim_key_check(pngshim_key *key, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                       uint8_t channels, uint8_t sample_bytes);

/* Marks the values of the first sample of each pixel, of one byte. */
void pngshim_values_add(uint8_t is_used[256], const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                        uint8_t channels);

/* Counts how often an index is next to another one, to the left or above: `counts[256 * a + b]`, with a < b. */
void pngshim_neighbors_add(uint32_t *counts, const uint8_t *indices, uint64_t stride, uint32_t width, uint32_t rows);

#endif
