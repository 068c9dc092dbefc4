/*
 * png_adam7.c - puts the pixels of interlaced rows into place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"

#include <string.h>

const uint8_t png_pass_x[7]  = {0, 4, 0, 2, 0, 1, 0};
const uint8_t png_pass_y[7]  = {0, 0, 4, 0, 2, 0, 1};
const uint8_t png_pass_dx[7] = {8, 8, 4, 4, 2, 2, 1};
const uint8_t png_pass_dy[7] = {8, 8, 8, 4, 4, 2, 2};
/* The block that a pixel stands for until later passes come. */
static const uint8_t block_w[7] = {8, 4, 4, 2, 2, 1, 1};
static const uint8_t block_h[7] = {8, 8, 4, 4, 2, 2, 1};

static inline __attribute__((always_inline)) void spread(uint8_t *to, const uint8_t *from, uint32_t x, uint32_t dx,
                                                         uint32_t width, size_t pixel) {
    for (uint64_t i = x; i < width; i += dx, from += pixel) memcpy(to + i * pixel, from, pixel);
}

void png_place(uint8_t *pixels, size_t stride, size_t pixel, uint32_t width, const uint8_t *row, uint32_t y, int p) {
    uint8_t *to = pixels + y * stride;
    switch (pixel) {
        case 1: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 1); break;
        case 2: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 2); break;
        case 3: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 3); break;
        case 4: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 4); break;
        case 6: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 6); break;
        default: spread(to, row, png_pass_x[p], png_pass_dx[p], width, 8); break;
    }
}

uint32_t png_place_blocks(uint8_t *pixels, size_t stride, size_t pixel, uint32_t width, uint32_t height,
                          const uint8_t *row, uint32_t y, int p) {
    uint32_t end = height - y > block_h[p] ? y + block_h[p] : height;
    uint8_t *to = pixels + y * stride;
    for (uint64_t x = png_pass_x[p]; x < width; x += png_pass_dx[p], row += pixel) {
        uint64_t stop = x + block_w[p] < width ? x + block_w[p] : width;
        for (uint64_t i = x; i < stop; i++) memcpy(to + i * pixel, row, pixel);
    }
    /* A block never covers a pixel of an earlier pass, so copies of this row's blocks alone are right. */
    for (uint32_t below = y + 1; below < end; below++) {
        uint8_t *copy = pixels + below * stride;
        for (uint64_t x = png_pass_x[p]; x < width; x += png_pass_dx[p]) {
            uint64_t stop = x + block_w[p] < width ? x + block_w[p] : width;
            memcpy(copy + x * pixel, to + x * pixel, (stop - x) * pixel);
        }
    }
    return end;
}
