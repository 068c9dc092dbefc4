/*
 * gauss_blur.h - a Gaussian blur with a small kernel in each direction.
 *
 * The image is processed row by row: weighted along the row, then down the columns. Samples between the passes have 16
 * bits and are premultiplied; edge pixels are repeated outside the image.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_GAUSS_BLUR_H
#define PIXEL_GAUSS_BLUR_H

#include <stdint.h>

/*
 * Blurs into another image of the same format, as in work_rows.h.
 *
 * weights: reach + 1 weights, none negative, from the center outwards; the center plus twice the others add up to 1.
 * reach: 1 ... 255. Returns 0, or -1 if the intermediate rows cannot be allocated.
 */
int32_t pixel_gauss_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                         uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                         const float *weights, uint32_t reach);

#endif
