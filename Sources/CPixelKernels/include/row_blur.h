/*
 * row_blur.h - blurs an image while its rows arrive.
 *
 * Along each row, then down the columns over the latest rows. Samples between the passes have 16 bits and are
 * premultiplied; edge pixels are repeated outside the image. Memory grows with the width and the reach of the blur,
 * not with the height.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_ROW_BLUR_H
#define PIXEL_ROW_BLUR_H

#include <stdint.h>

/* The rows of an image; the format is as in work_rows.h. */
typedef struct pixel_rows {
    uint64_t width, height;
    uint32_t channels, bits, alpha;
} pixel_rows;

typedef struct pixel_blur pixel_blur;

/*
 * Three box blurs in each direction, an approximation of a large Gaussian.
 *
 * reach: pixels of a box on each side of its center, 1 ... 16383. inner: weight of its inner pixels; outer: weight of
 * its two outermost pixels; (2 * reach - 1) * inner + 2 * outer = 1. Returns NULL without memory.
 */
pixel_blur *pixel_blur_boxes(pixel_rows rows, uint32_t reach, float inner, float outer);

/*
 * A small kernel in each direction.
 *
 * weights: reach + 1 weights, none negative, from the center outwards; the center plus twice the others add up to 1.
 * reach: 1 ... 255. Returns NULL without memory.
 */
pixel_blur *pixel_blur_weights(pixel_rows rows, const float *weights, uint32_t reach);

/*
 * Takes the next one or two rows; two are faster. Writes the rows that are complete, in the format of the source.
 *
 * target: room for two rows. stride: the distance between two rows in bytes, of source and target. Returns the number
 * of written rows, 0 ... 2.
 */
uint32_t pixel_blur_take(pixel_blur *blur, const void *source, uint32_t count, void *target, uint64_t stride);

/* After all rows were taken: writes the next of the remaining rows. Call it once for each of them. */
void pixel_blur_finish(pixel_blur *blur, void *target);

void pixel_blur_free(pixel_blur *blur);

#endif
