/*
 * work_rows.h - rows of any integer format as work rows, and back.
 *
 * A work row has four 16-bit samples a pixel: red, green, blue and alpha, premultiplied; gray stands in all three colors,
 * and what has no alpha is opaque. Eight bits with straight alpha come back as they were; only the color under pixels
 * that are fully clear is lost.
 *
 * channels, bits and alpha are those of PixelFormat; four channels of ink (6) pass as they are, without an alpha.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_WORK_ROWS_H
#define PIXEL_WORK_ROWS_H

#include <stdint.h>

void pixel_work_load(const void *row, uint16_t *work, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha);
void pixel_work_store(const uint16_t *work, void *row, uint64_t count, uint32_t channels, uint32_t bits, uint32_t alpha);

#endif
