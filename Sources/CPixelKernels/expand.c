/* expand.c - pixels that get a further channel. SPDX-License-Identifier: Apache-2.0 */
#include "pixel_kernels.h"

void pixel_rgb_to_rgba(const uint8_t *rgb, uint8_t *rgba, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        rgba[4 * x] = rgb[3 * x];
        rgba[4 * x + 1] = rgb[3 * x + 1];
        rgba[4 * x + 2] = rgb[3 * x + 2];
        rgba[4 * x + 3] = 255;
    }
}
