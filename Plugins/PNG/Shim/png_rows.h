/*
 * png_rows.h - the steps from an inflated row to an image; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_ROWS_H
#define PNG_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* The bytes behind a stored row that may be read, and written back unchanged. */
#define PNG_SLACK 16

/* Undoes the filters of rows in place, each of a filter byte and `stride` - 1 bytes. `prior` is the row above without
 * its filter byte, zeros above the first; `pixel` are the bytes from a sample to the same one of the next pixel
 * (PNG 3rd edition, 9.2). Returns the number of rows before the first one with an unknown filter. */
size_t png_unfilter(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel);

/* The conversion from stored pixels to image pixels. */
typedef struct png_conversion {
    uint8_t  depth, color_type;  /* as stored */
    uint8_t  to_channels, to_bits;
    uint8_t  has_key;
    uint16_t key[3];             /* the transparent color, as stored */
    uint8_t  palette[256][4];    /* RGBA */
} png_conversion;

/* Writes `width` pixels; `from` is unfiltered, has PNG_SLACK, and `indices` has room for `width` bytes. */
void png_convert(const png_conversion *c, uint8_t *to, const uint8_t *from, size_t width, uint8_t *indices);

/* Adam7: the positions of the pixels of a pass (PNG 3rd edition, 8.2). */
extern const uint8_t png_pass_x[7], png_pass_y[7], png_pass_dx[7], png_pass_dy[7];

/* The pixels of a pass in an image reduced to every 2^shift-th column and row. */
typedef struct png_grid {
    uint32_t width, height;   /* of the reduced image */
    uint32_t x, y, dx, dy;
    uint32_t block_w, block_h;  /* the block that a pixel fills until later passes arrive */
} png_grid;

png_grid png_grid_of(unsigned pass, unsigned shift, uint32_t width, uint32_t height);

/* Puts one row of a pass into row `y`; `pixel` is the number of bytes per pixel. */
void png_place(uint8_t *pixels, size_t stride, size_t pixel, const png_grid *grid, const uint8_t *row, uint32_t y);
/* Like png_place(), but fills the block around each pixel. Returns the end of the changed rows. */
uint32_t png_place_blocks(uint8_t *pixels, size_t stride, size_t pixel, const png_grid *grid, const uint8_t *row,
                          uint32_t y);

#endif
