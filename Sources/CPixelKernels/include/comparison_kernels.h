/*
 * comparison_kernels.h - compares the rows of two images.
 *
 * Samples are interleaved RGBA. Each function exists for several instruction sets, chosen at run time, with equal
 * results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef COMPARISON_KERNELS_H
#define COMPARISON_KERNELS_H

#include <stdint.h>

/* The difference of two rows; channels in the order R, G, B, A. */
struct pixel_row_difference {
    uint64_t absolute[4]; /* sums of |a - b| */
    uint64_t squared[4];  /* sums of (a - b)^2 */
    uint64_t differing;   /* pixels with a different sample */
    uint32_t maximum;     /* the largest |a - b| */
    uint32_t has_alpha;   /* 1: a pixel of either row is not opaque */
};

/* Straight to premultiplied, in place, rounded to nearest. */
void pixel_premultiply_rgba8(uint8_t *row, uint64_t count);
void pixel_premultiply_rgba16(uint16_t *row, uint64_t count);

/* Measures one row. */
void pixel_row_difference8(const uint8_t *a, const uint8_t *b, uint64_t count, struct pixel_row_difference *result);
void pixel_row_difference16(const uint16_t *a, const uint16_t *b, uint64_t count, struct pixel_row_difference *result);

/* Converts one channel to -127.5 ... 127.5, so that both depths share the constants and rounding errors are small. */
void pixel_plane8(const uint8_t *row, uint32_t channel, uint64_t count, float *plane);
void pixel_plane16(const uint16_t *row, uint32_t channel, uint64_t count, float *plane);

/*
 * The four weighted means for structural similarity, along a row: of a, of b, of aa + bb and of ab.
 * a and b have count + taps - 1 numbers; moments is four rows of count numbers; scratch holds two rows as long as a.
 */
void pixel_ssim_moments(const float *a, const float *b, const float *weights, uint32_t taps, uint64_t count,
                        float *moments, float *scratch);

/*
 * Returns the sum of the structural similarities of one row of windows. ring holds taps slots of 4 * count moments
 * each; slot first holds the topmost row of the window.
 */
double pixel_ssim_sum(const float *ring, uint32_t first, const float *weights, uint32_t taps, uint64_t count);

/* |a - b| times gain, at most white, as RGB: each sample is the larger of the color and alpha differences. */
void pixel_difference_rgb8(const uint8_t *a, const uint8_t *b, uint32_t gain, uint64_t count, uint8_t *rgb);
void pixel_difference_rgb16(const uint16_t *a, const uint16_t *b, uint32_t gain, uint64_t count, uint16_t *rgb);

/* For tests: selects the portable variant of every function from now on. */
void pixel_comparison_force_portable(int portable);

#endif
