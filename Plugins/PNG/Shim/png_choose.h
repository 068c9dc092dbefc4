/*
 * png_choose.h - chooses the filter of a row; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_CHOOSE_H
#define PNG_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

/* The state of a choice from row to row. */
typedef struct png_chooser png_chooser;

/* Makes a chooser for rows of up to `count` bytes. NULL without memory. */
png_chooser *png_chooser_open(size_t count);
void         png_chooser_close(png_chooser *chooser);
/* Removes the history. */
void         png_chooser_reset(png_chooser *chooser);

/* Filters a row by a strategy PNGSHIM_BY_ of png_shrink.h. `to` receives the filter number and `count` bytes;
 * `prior` is the row above, zeros above the first; `step` as in png_filter(). */
void png_choose_filter(png_chooser *chooser, unsigned strategy, uint8_t *to, const uint8_t *row, const uint8_t *prior,
                       size_t count, size_t step);

#endif
