/*
 * png_filter.h - applies the row filters; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_FILTER_H
#define PNG_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* Filters a row of `count` bytes (PNG 3rd edition, 9.2). `prior` is the row above, zeros above the first; `step` the
 * bytes from a sample to the same one of the next pixel. */
void png_filter(unsigned number, uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count, size_t step);

/* Returns the filter with the smallest sum of absolute differences, each byte as a signed one; of equal ones the one
 * with the lowest number. `filters` has bit 0 for filter 0 and so on, at least one. */
unsigned png_best_filter(uint8_t filters, const uint8_t *row, const uint8_t *prior, size_t count, size_t step);

#endif
