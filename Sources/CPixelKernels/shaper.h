/*
 * shaper.h - the tables of pixel_color.h, which its files share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SHAPER_H
#define SHAPER_H

#include "pixel_color.h"

typedef float lanes __attribute__((vector_size(16)));

struct pixel_shaper {
    /* The contribution of a source byte of R, G, B to the target's three samples, in encode8 units and target order. */
    lanes parts[3][256];
    uint8_t encode8[PIXEL_ENCODE8_SAMPLES];
    uint8_t gray8[256];
    pixel_layout from, to;
    int has_fast, is_gray, has_tone, has_ootf;
    /* Each table repeats its last sample, because a value between two samples needs both. */
    float curves[3][PIXEL_CURVE_SAMPLES + 1];
    float matrix[9];
    float encode[PIXEL_ENCODE_SAMPLES + 1];
    float tone[PIXEL_TONE_SAMPLES + 1], ootf[PIXEL_TONE_SAMPLES + 1];
    float linear_below, linear_slope, luma[3], ootf_scale;
};

/* Converts pixels first ..< first + count of a row; count <= PIXEL_CHUNK. The results equal those of single pixels. */
void shaper_chunk(const pixel_shaper *s, const void *source, void *target, uint64_t first, uint64_t count);

#endif
