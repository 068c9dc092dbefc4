/*
 * turn_pixels.h - moves pixels for an orientation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_TURN_PIXELS_H
#define PIXEL_TURN_PIXELS_H

#include <stdint.h>

/*
 * Copies an image through an Exif orientation, 1 ... 8; from 5 on the target's sides are exchanged.
 *
 * width, height: size of the source. bytes: bytes per pixel, at least 1.
 */
void pixel_turn(const void *source, uint64_t source_stride, void *target, uint64_t target_stride, uint64_t width,
                uint64_t height, uint32_t bytes, uint32_t orientation);

#endif
