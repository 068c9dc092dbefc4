/*
 * resample_bytes.h - the steps of a resampling of 8 bit samples in integers, for speed.
 *
 * Internally a sample is a 16 bit integer with 64 steps per external step: full is PIXEL_FULL, and filters may
 * overshoot to twice that. Weights are fractions of PIXEL_WEIGHT_ONE. Results are the same on every processor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESAMPLE_BYTES_H
#define RESAMPLE_BYTES_H

#include <stdint.h>

enum {
    PIXEL_FULL = 255 * 64,
    PIXEL_WEIGHT_ONE = 1 << 14,
    /* The largest number of source rows for a target row. */
    PIXEL_MOST_ROWS = 256,
    /* Samples after the end of each internal row that are read but have no effect. */
    PIXEL_ROW_PADDING = 64,
};

/* Multiplies by straight alpha, the last of 2 or 4 channels. */
void pixel_bytes_premultiply(const uint8_t *source, int16_t *target, uint64_t width, int32_t channels);

/* Adds a row of samples to sums of at most 2^16 rows. */
void pixel_bytes_add(const uint8_t *source, uint32_t *sums, uint64_t samples);
/* The same for internal rows. */
void pixel_words_add(const int16_t *source, uint32_t *sums, uint64_t samples);

/* Combines `factor` pixels of sums over `rows` rows into one pixel (fewer in the last one). one_step is 64 for sums of
   external samples, else 1. */
void pixel_sums_bin(
    const uint32_t *sums, int16_t *target, uint64_t width, int32_t channels, uint64_t factor, uint64_t rows,
    int32_t one_step);

/*
 * Adds up `count` rows of a ring, weighted: row r is at ring + (r % slots) * stride. The number of weights is even,
 * padded with a zero.
 */
void pixel_bytes_weigh_down(
    const uint8_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples);
void pixel_words_weigh_down(
    const int16_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples);

/* The number of weights processed at once; the length of a row of weights is a multiple of it. */
int32_t pixel_words_tap_group(int32_t channels);

/* Target pixel x is the sum of `taps` pixels from starts[x] on, weighted. */
void pixel_words_weigh_across(
    const int16_t *source, int16_t *target, uint64_t width, int32_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps);

/* Writes an internal row as bytes, rounded to nearest. */
void pixel_words_store(const int16_t *source, uint8_t *target, uint64_t samples);
/* The same, but divides by alpha, the last of 2 or 4 channels, if it is straight. */
void pixel_words_store_alpha(
    const int16_t *source, uint8_t *target, uint64_t width, int32_t channels, int32_t is_straight);

#endif
