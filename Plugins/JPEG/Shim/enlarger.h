/*
 * enlarger.h - eight times the size, row by row, with linear interpolation.
 *
 *     small     A       B       C        one sample is the mean of 8 x 8 pixels, so it is at their center
 *     large  AAAA.......B.......CCCC     a distance of 8, weights 1/16, 3/16 ... 15/16; ends are repeated
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JPEG_ENLARGER_H
#define JPEG_ENLARGER_H

#include <stdint.h>

typedef struct jpegs_enlarger jpegs_enlarger;

/* Makes an enlarger from width x height to large_width <= 8 * width, with 1, 3 or 4 channels. NULL without memory. */
jpegs_enlarger *jpegs_enlarger_new(uint32_t width, uint32_t height, uint32_t large_width, uint32_t channels);
void            jpegs_enlarger_free(jpegs_enlarger *e);

/* Returns where to put the next small row before large row `y` is made; NULL if no row is needed. `y` goes up by 1. */
uint8_t *jpegs_enlarger_wants(jpegs_enlarger *e, uint32_t y);
void     jpegs_enlarger_row(jpegs_enlarger *e, uint32_t y, uint8_t *row);

#endif
