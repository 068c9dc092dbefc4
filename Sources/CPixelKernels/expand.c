/* expand.c - adds a channel to pixels. SPDX-License-Identifier: Apache-2.0 */
#include "convert_rows.h"
#include "pixel_kernels.h"

void pixel_rgb_to_rgba(const uint8_t *rgb, uint8_t *rgba, uint64_t count) { pixel_expand_rgb(rgb, rgba, count, 0); }
