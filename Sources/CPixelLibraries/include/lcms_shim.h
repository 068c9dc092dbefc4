/*
 * lcms_shim.h - ICC profiles and transforms by Little CMS.
 *
 * Every object has its own context, so different threads may use different objects. The library prints no messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LCMS_SHIM_H
#define LCMS_SHIM_H

#include <stdint.h>

/* The version of the loaded library, such as 2140. */
int32_t lcmsshim_version(void);

typedef struct lcmsshim_profile lcmsshim_profile;

/* Copies and opens a profile; returns NULL if the library rejects the bytes. */
lcmsshim_profile *lcmsshim_profile_open(const void *bytes, uint64_t count);
void lcmsshim_profile_close(lcmsshim_profile *profile);

/* Whether three curves and a matrix (or one gray curve) define the profile: it has no table that takes precedence. */
int32_t lcmsshim_profile_is_shaper(lcmsshim_profile *profile);

/* Nine numbers, rows of the matrix from linear RGB to D50 XYZ; returns 0 if a column is missing. */
int32_t lcmsshim_profile_matrix(lcmsshim_profile *profile, double *matrix);

/* Samples of the curve of channel 0 ... 2 (3: gray) over 0 ... 1, including both ends; returns 0 if it is missing. */
int32_t lcmsshim_profile_curve(lcmsshim_profile *profile, int32_t channel, float *samples, uint32_t count);

typedef struct lcmsshim_transform lcmsshim_transform;

typedef struct lcmsshim_request {
    const void *source, *target;
    uint64_t source_count, target_count;
    /* 1 gray, 3 RGB, 4 CMYK. */
    int32_t source_channels, target_channels;
    /* Samples are 16 bits, or floats (CMYK: 0 ... 100). */
    int32_t is_float;
    /* 1: a finer grid, if the library uses one. */
    int32_t is_fine;
    /* 1: no grid; slow, but needed for matrices. */
    int32_t is_exact;
} lcmsshim_request;

/* Relative colorimetric with black point compensation; NULL if the library rejects the request. */
lcmsshim_transform *lcmsshim_transform_create(const lcmsshim_request *request);
void lcmsshim_transform_free(lcmsshim_transform *transform);

/* Thread-safe. */
void lcmsshim_transform_run(const lcmsshim_transform *transform, const void *source, void *target, uint32_t count);

#endif
