/*
 * resample_bytes.h - the steps of a resampling of 8 bit samples in integers, for speed.
 *
 * Inside, a sample is a 16 bit integer of 64 steps to each step outside: what is full is PIXEL_FULL, and filters may
 * overshoot to twice as much. Weights are of PIXEL_WEIGHT_ONE. Results are the same on every processor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESAMPLE_BYTES_H
#define RESAMPLE_BYTES_H

#include <stdint.h>

enum {
    PIXEL_FULL = 255 * 64,
    PIXEL_WEIGHT_ONE = 1 << 14,
    /* No target row is made of more rows. */
    PIXEL_MOST_ROWS = 256,
    /* Samples behind the end of every row inside that are read, and do not count. */
    PIXEL_ROW_PADDING = 64,
};

/* Straight alpha, the last of 2 or 4 channels, multiplied in. */
void pixel_bytes_premultiply(const uint8_t *source, int16_t *target, uint64_t width, int32_t channels);

/* Adds a row of samples to sums, which are of at most 2^16 rows. */
void pixel_bytes_add(const uint8_t *source, uint32_t *sums, uint64_t samples);
/* The same for rows inside. */
void pixel_words_add(const int16_t *source, uint32_t *sums, uint64_t samples);

/* Makes one pixel of `factor` pixels of sums (of fewer in the last one), which are of `rows` rows; one_step is 64 where
   the sums are of samples outside, else 1. */
void pixel_sums_bin(
    const uint32_t *sums, int16_t *target, uint64_t width, int32_t channels, uint64_t factor, uint64_t rows,
    int32_t one_step);

/*
 * Adds up `count` rows of a ring, each times its weight: row r is at ring + (r % slots) * stride. The number of weights
 * is even, a zero at the end if need be.
 */
void pixel_bytes_weigh_down(
    const uint8_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples);
void pixel_words_weigh_down(
    const int16_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples);

/* How many weights of one target pixel are taken at once: the length of a row of weights is a multiple. */
int32_t pixel_words_tap_group(int32_t channels);

/* Target pixel x is the sum of `taps` pixels from starts[x] on, each times its weight. */
void pixel_words_weigh_across(
    const int16_t *source, int16_t *target, uint64_t width, int32_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps);

/* One row to the outside, rounded to nearest. */
void pixel_words_store(const int16_t *source, uint8_t *target, uint64_t samples);
/* The same with alpha, the last of 2 or 4 channels, divided out where it is straight. */
void pixel_words_store_alpha(
    const int16_t *source, uint8_t *target, uint64_t width, int32_t channels, int32_t is_straight);

#endif
