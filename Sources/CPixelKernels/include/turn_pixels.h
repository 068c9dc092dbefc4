/*
 * turn_pixels.h - pixels to other places, unchanged.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_TURN_PIXELS_H
#define PIXEL_TURN_PIXELS_H

#include <stdint.h>

/*
 * Copies a picture through an orientation as Exif numbers them, 1 ... 8; the target has the sides exchanged from 5 on.
 *
 * width, height: of the source. bytes: of a pixel, at least 1.
 */
void pixel_turn(const void *source, uint64_t source_stride, void *target, uint64_t target_stride, uint64_t width,
                uint64_t height, uint32_t bytes, uint32_t orientation);

#endif
