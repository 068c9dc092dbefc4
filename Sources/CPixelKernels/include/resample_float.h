/*
 * resample_float.h - the steps of a resampling in single floats: load rows, weigh down, weigh across, store rows.
 *
 * Internally alpha (always the last channel) is premultiplied, and 1.0 is full. Results are the same on every
 * processor.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RESAMPLE_FLOAT_H
#define RESAMPLE_FLOAT_H

#include <stdint.h>

enum {
    PIXEL_SAMPLE_8 = 0,
    PIXEL_SAMPLE_16 = 1,
    PIXEL_SAMPLE_HALF = 2,
    PIXEL_SAMPLE_FLOAT = 3,
};

enum {
    PIXEL_ALPHA_NONE = 0,
    PIXEL_ALPHA_STRAIGHT = 1,
    PIXEL_ALPHA_PREMULTIPLIED = 2,
    /* The last channel is opaque and stays opaque. */
    PIXEL_ALPHA_OPAQUE = 3,
};

/* Steps of a curve table, which has one more entry; entry i is the curve at i / PIXEL_CURVE_STEPS. */
#define PIXEL_CURVE_STEPS 16384

/* The format of external rows, which need not be aligned. */
typedef struct {
    int32_t sample;   /* PIXEL_SAMPLE_... */
    int32_t channels; /* 1 to 4 */
    int32_t alpha;    /* PIXEL_ALPHA_... */
    int32_t colors;   /* channels to which the curve applies */
} pixel_row_format;

/* Reads an external row; applies `to_linear` unless it is NULL. */
void pixel_float_load(
    const void *source, float *target, uint64_t width, const pixel_row_format *format, const float *to_linear);

/* Writes an external row, rounded to nearest; fully transparent pixels get color 0. */
void pixel_float_store(
    const float *source, void *target, uint64_t width, const pixel_row_format *format, const float *from_linear);

/* Adds a row of pixels, bin by bin, to a row of sums: `factor` pixels in each bin, fewer in the last one. */
void pixel_float_add_bins(const float *source, float *sums, uint64_t width, int32_t channels, uint64_t factor);

/*
 * Adds up `count` rows of a ring, weighted: row r is at ring + (r % slots) * stride. `first` is the first row, samples
 * the length of a row.
 */
void pixel_float_weigh_down(
    const float *ring, uint64_t stride, uint64_t slots, uint64_t first, const float *weights, uint64_t count,
    float *target, uint64_t samples);

/* Target pixel x is the sum of `taps` pixels from starts[x] on, weighted. */
void pixel_float_weigh_across(
    const float *source, float *target, uint64_t width, int32_t channels, const int32_t *starts, const float *weights,
    uint64_t taps);

#endif
