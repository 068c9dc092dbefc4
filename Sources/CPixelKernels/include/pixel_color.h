/*
 * pixel_color.h - curve, matrix, curve: the colours of one row made those of another space.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_COLOR_H
#define PIXEL_COLOR_H

#include <stdint.h>

/* How the pixels of a row are stored; the numbers of channels and alpha are those of PixelFormat. */
typedef struct pixel_layout {
    int32_t channels; /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA, 6 CMYK */
    int32_t bits;     /* 8, 16; 16 or 32 of a float */
    int32_t is_float;
    int32_t alpha; /* 0 none, 1 straight, 2 premultiplied, 3 all full */
} pixel_layout;

/* Pixels that are handled at once by the functions of this file. */
#define PIXEL_CHUNK 256

/*
 * Reads count <= PIXEL_CHUNK pixels: four numbers in 0 ... 1 each (R G B 0, or C M Y K; gray three times), not
 * premultiplied, and alpha.
 */
void pixel_unpack(const void *row, pixel_layout layout, uint64_t first, uint64_t count, float *color, float *alpha);

/* Writes what pixel_unpack reads; to nearest, alpha from 16 to 8 bits by its high byte. Gray is the first number. */
void pixel_pack(void *row, pixel_layout layout, uint64_t first, uint64_t count, const float *color, const float *alpha);

/* Between those four numbers and packed samples of 16 bits or floats; floats of ink are 0 ... 100. */
void pixel_to_samples(const float *color, uint64_t count, int32_t channels, int32_t is_float, void *samples);
void pixel_from_samples(const void *samples, uint64_t count, int32_t channels, int32_t is_float, float *color);

/* Samples of a curve over 0 ... 1, ends included. */
#define PIXEL_CURVE_SAMPLES 4097
/* Samples of a function of 2^-9 ... 1 in steps of 1/256 octave, and one more. */
#define PIXEL_ENCODE_SAMPLES 2305
/* Samples of a function of 2^-20 ... 1 in steps of 1/256 octave, and one more. */
#define PIXEL_TONE_SAMPLES 5121
/* Entries of the table from linear light to 8 bits. */
#define PIXEL_ENCODE8_SAMPLES 8192

typedef struct pixel_shape {
    /* Three curves to linear light, one after the other. */
    const float *curves;
    /* Rows of the matrix from linear light to linear light. */
    const float *matrix;
    /* The curve back, above linear_below; there it is linear_slope times the light. */
    const float *encode;
    float linear_below, linear_slope;
    /* The same to 8 bits: entry i stands for i / (PIXEL_ENCODE8_SAMPLES - 1). */
    const uint8_t *encode8;
    /* Factor to light by its largest component; NULL: none. Below 2^-20 it is the first one. */
    const float *tone;
    /* HLG's OOTF in front of it: weights of luminance; the exponent less one is 0.2. All 0: none. */
    float luma[3];
    /* x^0.2 as tone is stored; NULL without OOTF. */
    const float *ootf;
    float ootf_scale;
} pixel_shape;

typedef struct pixel_shaper pixel_shaper;

/* NULL: no memory. Everything is copied. Formats are any but CMYK; a gray target takes the red of the result. */
pixel_shaper *pixel_shaper_create(const pixel_shape *shape, pixel_layout from, pixel_layout to);
void pixel_shaper_free(pixel_shaper *shaper);

/* Any thread; source and target may be the same row when pixels have the same size. */
void pixel_shaper_row(const pixel_shaper *shaper, const void *source, void *target, uint64_t count);

#endif
