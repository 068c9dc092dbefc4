/*
 * lcms_shim.h - ICC profiles and transforms by Little CMS.
 *
 * Every object has a context of its own, so that any two may be used by two threads; messages are kept, never printed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LCMS_SHIM_H
#define LCMS_SHIM_H

#include <stdint.h>

/* The version of the library that is loaded, such as 2140. */
int32_t lcmsshim_version(void);

typedef struct lcmsshim_profile lcmsshim_profile;

/* NULL when the library refuses the bytes; they are copied. */
lcmsshim_profile *lcmsshim_profile_open(const void *bytes, uint64_t count);
void lcmsshim_profile_close(lcmsshim_profile *profile);

/* Whether three curves and a matrix (or one gray curve) say everything: no table takes precedence over them. */
int32_t lcmsshim_profile_is_shaper(lcmsshim_profile *profile);

/* Nine numbers, rows of the matrix from linear RGB to D50 XYZ; 0 when a column is missing. */
int32_t lcmsshim_profile_matrix(lcmsshim_profile *profile, double *matrix);

/* Samples of the curve of channel 0 ... 2 (3: gray) over 0 ... 1, ends included; 0 when it is missing. */
int32_t lcmsshim_profile_curve(lcmsshim_profile *profile, int32_t channel, float *samples, uint32_t count);

typedef struct lcmsshim_transform lcmsshim_transform;

typedef struct lcmsshim_request {
    const void *source, *target;
    uint64_t source_count, target_count;
    /* 1 gray, 3 RGB, 4 CMYK. */
    int32_t source_channels, target_channels;
    /* Samples are 16 bits, or floats (of ink: 0 ... 100). */
    int32_t is_float;
    /* A finer grid where the library makes one. */
    int32_t is_fine;
    /* No grid at all: slow, and what matrices need. */
    int32_t is_exact;
} lcmsshim_request;

/* Relative colorimetric with black point compensation; NULL when the library refuses. */
lcmsshim_transform *lcmsshim_transform_create(const lcmsshim_request *request);
void lcmsshim_transform_free(lcmsshim_transform *transform);

/* Any number of threads at once. */
void lcmsshim_transform_run(const lcmsshim_transform *transform, const void *source, void *target, uint32_t count);

#endif
