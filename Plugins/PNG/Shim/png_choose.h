/*
 * png_choose.h - which filter a row gets; inside the shim only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_CHOOSE_H
#define PNG_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

/* What a choice remembers from row to row. */
typedef struct png_chooser png_chooser;

/* For rows of up to `count` bytes. NULL without memory. */
png_chooser *png_chooser_open(size_t count);
void         png_chooser_close(png_chooser *chooser);
/* Forgets the rows so far. */
void         png_chooser_reset(png_chooser *chooser);

/* Filters a row by one of the strategies PNGSHIM_BY_ of png_shrink.h. `to` gets the number of the filter and `count` bytes;
 * `prior` is the row above, zeros above the first; `step` as in png_filter(). */
void png_choose_filter(png_chooser *chooser, unsigned strategy, uint8_t *to, const uint8_t *row, const uint8_t *prior,
                       size_t count, size_t step);

#endif
