/*
 * pixel_kernels.h - vectorized loops over the samples of one row.
 *
 * Every function picks the widest instructions this processor has, at run time; the results are equal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_KERNELS_H
#define PIXEL_KERNELS_H

#include <stdint.h>

/* RGB8 to RGBA8 with full alpha. */
void pixel_rgb_to_rgba(const uint8_t *rgb, uint8_t *rgba, uint64_t count);

#endif
