/*
 * work_rows.h - converts rows of any integer format to work rows, and back.
 *
 * A work row has four premultiplied 16-bit samples per pixel: red, green, blue and alpha. Gray is repeated in all
 * three colors; pixels without alpha are opaque. A conversion of 8 bits with straight alpha and back is lossless,
 * except for the color of fully transparent pixels.
 *
 * channels, bits and alpha have the raw values of PixelFormat; CMYK (6) is copied unchanged, without an alpha.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_WORK_ROWS_H
#define PIXEL_WORK_ROWS_H

#include <stdint.h>

void pixel_work_load(const void *row, uint16_t *work, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha);
void pixel_work_store(const uint16_t *work, void *row, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha);

#endif
