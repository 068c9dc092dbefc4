/*
 * box_blur.h - up to three boxes in each direction; three are close to a Gaussian.
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
 * box: pixels of a box in each direction, odd, 3 ... 32767. passes: boxes in each direction, 1 ... 3.
 * Returns 0, or -1 where there is no memory for the rows between.
 */
int32_t pixel_box_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                       uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha, uint32_t box,
                       uint32_t passes);

#endif
