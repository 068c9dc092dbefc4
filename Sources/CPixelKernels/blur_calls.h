/* blur_calls.h - what both blurs share. SPDX-License-Identifier: Apache-2.0 */
#ifndef PIXEL_BLUR_CALLS_H
#define PIXEL_BLUR_CALLS_H

#include <string.h>

#include "include/row_blur.h"

/* The first member of each blur. */
struct pixel_blur {
    uint32_t (*take)(pixel_blur *, const uint8_t *source, uint32_t count, uint8_t *target, uint64_t stride);
    void (*finish)(pixel_blur *, uint8_t *target);
    void (*release)(pixel_blur *);
};

/* Repeats the edge pixels of a row on both sides. */
static inline void repeat_edges(uint16_t *row, uint64_t count, uint64_t reach) {
    for (uint64_t x = 1; x <= reach; x++) memcpy(row - 4 * x, row, 8);
    for (uint64_t x = 0; x < reach; x++) memcpy(row + 4 * (count + x), row + 4 * (count - 1), 8);
}

#endif
