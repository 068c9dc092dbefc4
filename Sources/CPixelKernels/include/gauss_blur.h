/*
 * gauss_blur.h - a small kernel in each direction.
 *
 * The picture goes through row by row: weighed along the row, then down the columns. Samples have 16 bits between the
 * two and are premultiplied; outside the picture its edge goes on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_GAUSS_BLUR_H
#define PIXEL_GAUSS_BLUR_H

#include <stdint.h>

/*
 * Blurs into another picture of the same format, as in work_rows.h.
 *
 * weights: reach + 1 of them, none negative, from the middle on; the middle once and the others twice are 1 together.
 * reach: 1 ... 255. Returns 0, or -1 where there is no memory for the rows between.
 */
int32_t pixel_gauss_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                         uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                         const float *weights, uint32_t reach);

#endif
