/*
 * box_blur.h - three boxes in each direction, which are close to a Gaussian that is not small.
 *
 * The picture goes through row by row: running sums along the row, then down the columns, those over the last
 * rows only. Between the passes samples have 16 bits and are premultiplied; outside the picture its edge goes on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_BOX_BLUR_H
#define PIXEL_BOX_BLUR_H

#include <stdint.h>

/*
 * Blurs into another picture of the same format, as in work_rows.h.
 *
 * reach: pixels of a box on each side of its middle, 1 ... 16383. inner, outer: weights of its pixels, the latter of
 * the two outermost; (2 * reach - 1) * inner + 2 * outer = 1. Returns 0, or -1 where there is no memory for the rows
 * between.
 */
int32_t pixel_box_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                       uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                       uint32_t reach, float inner, float outer);

#endif
