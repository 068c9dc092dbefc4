/*
 * blend_rows.h - one work row onto another.
 *
 * Work rows are those of work_rows.h: four 16-bit samples a pixel, premultiplied. Results are rounded to nearest.
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

/* Blends `source` onto `backdrop`, which becomes the result. */
void pixel_blend(uint16_t *backdrop, const uint16_t *source, uint64_t count, uint32_t mode);

/* Multiplies all samples of each pixel by its coverage. */
void pixel_cover(uint16_t *work, const uint16_t *coverage, uint64_t count);

/* Goes from `work` to `other` as far as the coverage of each pixel says. */
void pixel_mix(uint16_t *work, const uint16_t *other, const uint16_t *coverage, uint64_t count);

/*
 * Colors through a matrix of three rows (factors of red, green, blue, then what is added), then within 0 ... 1.
 *
 * The colors are those without alpha; alpha stays.
 */
void pixel_color_matrix(uint16_t *work, uint64_t count, const float matrix[12]);

/* Colors, those without alpha, through a table of 65536 entries; alpha stays. */
void pixel_color_curve(uint16_t *work, uint64_t count, const uint16_t *table);

/*
 * A row of a picture that is turned by any angle: samples of a work picture along a line, bilinear, clear outside.
 *
 * x, y: of the first sample, in pixels of the picture with 0.5 in the middle of the first one; step_x, step_y: to the
 * next one. stride: in bytes.
 */
void pixel_sample_line(const uint16_t *picture, uint64_t stride, int64_t width, int64_t height, double x, double y,
                       double step_x, double step_y, uint16_t *work, uint64_t count);

#endif
