/*
 * blend_rows.h - blends work rows.
 *
 * Work rows (see work_rows.h) have four 16-bit samples per pixel, premultiplied. Results are rounded to nearest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_BLEND_ROWS_H
#define PIXEL_BLEND_ROWS_H

#include <stdint.h>

enum {
    PIXEL_BLEND_NORMAL,
    PIXEL_BLEND_CLEAR,
    PIXEL_BLEND_COPY,
    PIXEL_BLEND_SOURCE_IN,
    PIXEL_BLEND_SOURCE_OUT,
    PIXEL_BLEND_SOURCE_ATOP,
    PIXEL_BLEND_DESTINATION_OVER,
    PIXEL_BLEND_DESTINATION_IN,
    PIXEL_BLEND_DESTINATION_OUT,
    PIXEL_BLEND_DESTINATION_ATOP,
    PIXEL_BLEND_XOR,
    PIXEL_BLEND_PLUS_LIGHTER,
    PIXEL_BLEND_PLUS_DARKER,
    PIXEL_BLEND_MULTIPLY,
    PIXEL_BLEND_SCREEN,
    PIXEL_BLEND_OVERLAY,
    PIXEL_BLEND_DARKEN,
    PIXEL_BLEND_LIGHTEN,
    PIXEL_BLEND_COLOR_DODGE,
    PIXEL_BLEND_COLOR_BURN,
    PIXEL_BLEND_SOFT_LIGHT,
    PIXEL_BLEND_HARD_LIGHT,
    PIXEL_BLEND_DIFFERENCE,
    PIXEL_BLEND_EXCLUSION,
};

/* Blends `source` onto `backdrop` and stores the result in `backdrop`. */
void pixel_blend(uint16_t *backdrop, const uint16_t *source, uint64_t count, uint32_t mode);

/* Multiplies all samples of each pixel by its coverage. */
void pixel_cover(uint16_t *work, const uint16_t *coverage, uint64_t count);

/* Interpolates from `work` to `other` by the coverage of each pixel. */
void pixel_mix(uint16_t *work, const uint16_t *other, const uint16_t *coverage, uint64_t count);

/*
 * Applies a matrix of three rows (factors of red, green and blue, then an offset), then clamps to 0 ... 1.
 *
 * The matrix applies to unpremultiplied colors; alpha stays unchanged.
 */
void pixel_color_matrix(uint16_t *work, uint64_t count, const float matrix[12]);

/* Maps unpremultiplied colors through a table of 65536 entries; alpha stays unchanged. */
void pixel_color_curve(uint16_t *work, uint64_t count, const uint16_t *table);

/*
 * Computes a row of a rotated image: samples a work image along a line, bilinearly; outside the image is transparent.
 *
 * x, y: position of the first sample of the row, in pixels; 0.5 is the center of the first pixel. step_x, step_y:
 * distance to the next sample. start: the first sample to compute, the first of work. stride: in bytes.
 */
void pixel_sample_line(const uint16_t *image, uint64_t stride, int64_t width, int64_t height, double x, double y,
                       double step_x, double step_y, uint64_t start, uint16_t *work, uint64_t count);

#endif
