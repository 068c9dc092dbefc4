/*
 * resample_float.h - the steps of a resampling in single floats: rows come in, are weighed down, then across, and go out.
 *
 * Inside, alpha (always the last channel) is premultiplied, and 1.0 is full. Results are the same on every processor.
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
    /* The last channel is full everywhere, and stays it. */
    PIXEL_ALPHA_OPAQUE = 3,
};

/* Steps of a curve table, which has one entry more; entry i is the curve at i / PIXEL_CURVE_STEPS. */
#define PIXEL_CURVE_STEPS 16384

/* What rows outside are: they need not be aligned. */
typedef struct {
    int32_t sample;   /* PIXEL_SAMPLE_... */
    int32_t channels; /* 1 to 4 */
    int32_t alpha;    /* PIXEL_ALPHA_... */
    int32_t colors;   /* channels that a curve is for */
} pixel_row_format;

/* One row from outside; through `to_linear` where that is not NULL. */
void pixel_float_load(
    const void *source, float *target, uint64_t width, const pixel_row_format *format, const float *to_linear);

/* One row to the outside, rounded to nearest; colours of what is fully transparent are 0. */
void pixel_float_store(
    const float *source, void *target, uint64_t width, const pixel_row_format *format, const float *from_linear);

/* Adds a row of pixels, bin by bin, to a row of sums: `factor` pixels in each bin, fewer in the last one. */
void pixel_float_add_bins(const float *source, float *sums, uint64_t width, int32_t channels, uint64_t factor);

/*
 * Adds up `count` rows of a ring, each times its weight: row r is at ring + (r % slots) * stride, the first one is
 * `first`, samples is the length of a row.
 */
void pixel_float_weigh_down(
    const float *ring, uint64_t stride, uint64_t slots, uint64_t first, const float *weights, uint64_t count,
    float *target, uint64_t samples);

/* Target pixel x is the sum of `taps` pixels from starts[x] on, each times its weight. */
void pixel_float_weigh_across(
    const float *source, float *target, uint64_t width, int32_t channels, const int32_t *starts, const float *weights,
    uint64_t taps);

#endif
