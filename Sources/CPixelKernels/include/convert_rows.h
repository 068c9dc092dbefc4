/*
 * convert_rows.h - converts rows between pixel formats. Rows need not be aligned, and do not overlap.
 *
 * Computed values round to nearest. Colors are in the order of the source unless stated otherwise; `swaps`
 * exchanges the first and the third channel, for RGBA and BGRA.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CONVERT_ROWS_H
#define CONVERT_ROWS_H

#include <stdint.h>

/* RGB8 to RGBA8 or BGRA8 with full alpha. */
void pixel_expand_rgb(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps);
/* RGBA8 or BGRA8 to RGB8; alpha is dropped. */
void pixel_drop_alpha(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps);
/* Four samples of 8 bits, the first and the third exchanged. */
void pixel_swap_colors(const uint8_t *source, uint8_t *target, uint64_t count);
/* Gray8 to RGB8 or to RGBA8 with full alpha. */
void pixel_expand_gray(const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels);

/* Narrowing keeps the high byte of every sample; widening repeats the byte. */
void pixel_narrow(const void *source, uint8_t *target, uint64_t samples);
void pixel_widen(const uint8_t *source, void *target, uint64_t samples);

/* Multiplies by alpha, the last of 2 or 4 channels, or divides by it; colors with alpha 0 become 0. */
void pixel_premultiply_8(const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels);
void pixel_unpremultiply_8(const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels);
void pixel_premultiply_16(const void *source, void *target, uint64_t count, int32_t channels);
void pixel_unpremultiply_16(const void *source, void *target, uint64_t count, int32_t channels);

/* Draws RGBA8 or BGRA8 with straight alpha over a color in the target's channel order; to 3 or 4 channels. */
void pixel_flatten(
    const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels, int32_t swaps,
    const uint8_t background[3]);

/* CMYK8 to RGB8 or to RGBA8 with full alpha: (255 - ink) (255 - black) / 255. */
void pixel_inks_to_light(const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels);

#endif
