/*
 * box_blur.h - three box blurs in each direction, an approximation of a large Gaussian.
 *
 * The image is processed row by row: running sums along the row, then down the columns over the latest rows. Samples
 * between the passes have 16 bits and are premultiplied; edge pixels are repeated outside the image.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_BOX_BLUR_H
#define PIXEL_BOX_BLUR_H

#include <stdint.h>

/*
 * Blurs into another image of the same format, as in work_rows.h.
 *
 * reach: pixels of a box on each side of its center, 1 ... 16383. inner: weight of its inner pixels; outer: weight of
 * its two outermost pixels; (2 * reach - 1) * inner + 2 * outer = 1. Returns 0, or -1 if the intermediate rows cannot
 * be allocated.
 */
int32_t pixel_box_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                       uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                       uint32_t reach, float inner, float outer);

#endif
