// shim_internal.h - what the files of the shim share; never seen by Swift.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef AVIF_SHIM_INTERNAL_H
#define AVIF_SHIM_INTERNAL_H

#include "avif_shim.h"

#include <avif/avif.h>

namespace avif_shim {

// Writes down what libavif said; `details` may be empty.
int32_t report(avifResult result, const char *details, avif_shim_error *error);
int32_t report(int32_t code, const char *message, avif_shim_error *error);

// Whether `convert` can turn the samples of `image` into RGB (rows.cpp).
bool knows_colors(const avifImage &image);

// Converts rows first ..< end over the whole width into `out`, without turning them; `stride` may be negative. False
// when memory is short.
bool convert_rows(const avifImage &image, uint32_t first, uint32_t end, unsigned channels, unsigned bits, uint8_t *out,
                  int64_t stride);

}
#endif
