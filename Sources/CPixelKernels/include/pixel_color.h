/*
 * pixel_color.h - converts the colors of a row to another space: curve, matrix, curve.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PIXEL_COLOR_H
#define PIXEL_COLOR_H

#include <stdint.h>

/* The storage of a row's pixels; channels and alpha have the raw values of PixelFormat. */
typedef struct pixel_layout {
    int32_t channels; /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA, 5 BGRA, 6 CMYK */
    int32_t bits;     /* 8 or 16; floats 16 or 32 */
    int32_t is_float;
    int32_t alpha; /* 0 none, 1 straight, 2 premultiplied, 3 opaque */
} pixel_layout;

/* The largest number of pixels per call of pixel_unpack and pixel_pack. */
#define PIXEL_CHUNK 256

/*
 * Reads count <= PIXEL_CHUNK pixels: four numbers in 0 ... 1 each (R G B 0, or C M Y K; gray three times), not
 * premultiplied, and alpha.
 */
void pixel_unpack(const void *row, pixel_layout layout, uint64_t first, uint64_t count, float *color, float *alpha);

/* The inverse of pixel_unpack; rounds to nearest, but alpha from 16 to 8 bits keeps its high byte. Gray: 1st value. */
void pixel_pack(void *row, pixel_layout layout, uint64_t first, uint64_t count, const float *color, const float *alpha);

/* Converts between these numbers and packed samples of 16 bits or floats; CMYK floats are 0 ... 100. */
void pixel_to_samples(const float *color, uint64_t count, int32_t channels, int32_t is_float, void *samples);
void pixel_from_samples(const void *samples, uint64_t count, int32_t channels, int32_t is_float, float *color);

/* Samples of a curve over 0 ... 1, including both ends. */
#define PIXEL_CURVE_SAMPLES 4097
/* Samples of a function of 2^-9 ... 1 in steps of 1/256 octave, including both ends. */
#define PIXEL_ENCODE_SAMPLES 2305
/* Samples of a function of 2^-20 ... 1 in steps of 1/256 octave, including both ends. */
#define PIXEL_TONE_SAMPLES 5121
/* Entries of the table from linear light to 8 bits. */
#define PIXEL_ENCODE8_SAMPLES 8192

typedef struct pixel_shape {
    /* Three curves to linear light, one after the other. */
    const float *curves;
    /* Rows of the matrix from linear light to linear light. */
    const float *matrix;
    /* The inverse curve above linear_below; below it the value is linear_slope times the light. */
    const float *encode;
    float linear_below, linear_slope;
    /* The same to 8 bits: entry i is for i / (PIXEL_ENCODE8_SAMPLES - 1). */
    const uint8_t *encode8;
    /* Factors for light, indexed by its largest component; the first entry serves below 2^-20. NULL: none. */
    const float *tone;
    /* Luminance weights of the HLG OOTF, applied before tone; its exponent minus one is 0.2. All 0: no OOTF. */
    float luma[3];
    /* x^0.2 in the layout of tone; NULL without OOTF. */
    const float *ootf;
    float ootf_scale;
} pixel_shape;

typedef struct pixel_shaper pixel_shaper;

/* Copies all tables; returns NULL without memory. Accepts all formats but CMYK; a gray target gets the red result. */
pixel_shaper *pixel_shaper_create(const pixel_shape *shape, pixel_layout from, pixel_layout to);
void pixel_shaper_free(pixel_shaper *shaper);

/* Thread-safe. source and target may be the same row if their pixels have the same size. */
void pixel_shaper_row(const pixel_shaper *shaper, const void *source, void *target, uint64_t count);

#endif
