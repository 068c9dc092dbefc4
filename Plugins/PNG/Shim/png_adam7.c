/*
 * png_adam7.c - places the pixels of interlaced rows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"

#include <string.h>

const uint8_t png_pass_x[7]  = {0, 4, 0, 2, 0, 1, 0};
const uint8_t png_pass_y[7]  = {0, 0, 4, 0, 2, 0, 1};
const uint8_t png_pass_dx[7] = {8, 8, 4, 4, 2, 2, 1};
const uint8_t png_pass_dy[7] = {8, 8, 8, 4, 4, 2, 2};
static const uint8_t block_w[7] = {8, 4, 4, 2, 2, 1, 1};
static const uint8_t block_h[7] = {8, 8, 4, 4, 2, 2, 1};

png_grid png_grid_of(unsigned p, unsigned shift, uint32_t width, uint32_t height) {
    uint32_t more = (1u << shift) - 1;
    return (png_grid){(uint32_t)(((uint64_t)width + more) >> shift), (uint32_t)(((uint64_t)height + more) >> shift),
                      png_pass_x[p] >> shift, png_pass_y[p] >> shift, png_pass_dx[p] >> shift,
                      png_pass_dy[p] >> shift, block_w[p] >> shift, block_h[p] >> shift};
}

static inline __attribute__((always_inline)) void spread(uint8_t *to, const uint8_t *from, const png_grid *g,
                                                         size_t pixel) {
    for (uint64_t i = g->x; i < g->width; i += g->dx, from += pixel) memcpy(to + i * pixel, from, pixel);
}

void png_place(uint8_t *pixels, size_t stride, size_t pixel, const png_grid *g, const uint8_t *row, uint32_t y) {
    uint8_t *to = pixels + y * stride;
    switch (pixel) {
        case 1: spread(to, row, g, 1); break;
        case 2: spread(to, row, g, 2); break;
        case 3: spread(to, row, g, 3); break;
        case 4: spread(to, row, g, 4); break;
        case 6: spread(to, row, g, 6); break;
        default: spread(to, row, g, 8); break;
    }
}

uint32_t png_place_blocks(uint8_t *pixels, size_t stride, size_t pixel, const png_grid *g, const uint8_t *row,
                          uint32_t y) {
    uint32_t end = g->height - y > g->block_h ? y + g->block_h : g->height;
    uint8_t *to = pixels + y * stride;
    for (uint64_t x = g->x; x < g->width; x += g->dx, row += pixel) {
        uint64_t stop = x + g->block_w < g->width ? x + g->block_w : g->width;
        for (uint64_t i = x; i < stop; i++) memcpy(to + i * pixel, row, pixel);
    }
    /* A block never covers a pixel of an earlier pass, so it is enough to copy this row's blocks. */
    for (uint32_t below = y + 1; below < end; below++) {
        uint8_t *copy = pixels + below * stride;
        for (uint64_t x = g->x; x < g->width; x += g->dx) {
            uint64_t stop = x + g->block_w < g->width ? x + g->block_w : g->width;
            memcpy(copy + x * pixel, to + x * pixel, (stop - x) * pixel);
        }
    }
    return end;
}
