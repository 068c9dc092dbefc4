/*
 * png_pack.h - converts rows of pixels to filtered rows of a PNG in a zlib stream; palettes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_PACK_H
#define PNG_PACK_H

#include <stdint.h>

#include "png_deflate.h"

/* ---- a palette that grows ---- */

typedef struct pngshim_palette pngshim_palette;

/* `has_hole` keeps entry 0 for transparent black; a color takes it if no other entry is free and no frame used it. */
int32_t  pngshim_palette_open(uint8_t has_hole, pngshim_palette **palette);
void     pngshim_palette_close(pngshim_palette *palette);
/* Adds the colors of rows of 8-bit samples: gray, gray with alpha, RGB or RGBA; `opaque`: ignores alpha.
 * PNGSHIM_REFUSED at the 257th color. */
int32_t  pngshim_palette_add(pngshim_palette *palette, const uint8_t *pixels, uint64_t stride, uint32_t width,
                             uint32_t rows, uint8_t channels, uint8_t opaque);
/* PNGSHIM_REFUSED if there is no entry for transparent black (any more). `keep`: no color may take it. */
int32_t  pngshim_palette_hole(pngshim_palette *palette, uint8_t keep);
/* Moves entries that are not opaque to the front, so that tRNS is short, and sorts both parts. */
void     pngshim_palette_sort(pngshim_palette *palette);
/* Writes the index of every pixel; the palette must have every color. */
void     pngshim_palette_find(const pngshim_palette *palette, const uint8_t *pixels, uint64_t stride, uint32_t width,
                              uint32_t rows, uint8_t channels, uint8_t *indices);
/* Writes the entries as RGBA and returns their number. */
uint32_t pngshim_palette_entries(const pngshim_palette *palette, uint8_t rgba[1024]);

/* ---- redundant samples ---- */

typedef struct pngshim_survey {
    uint8_t gray;     /* red, green and blue are equal in every pixel */
    uint8_t opaque;   /* every pixel is opaque */
    uint8_t doubled;  /* both bytes of every 16-bit sample are equal, so that 8 bits are enough */
} pngshim_survey;

/* Clears the properties that do not hold for rows of `channels` samples of 1 or 2 bytes. */
void pngshim_survey_add(pngshim_survey *survey, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                        uint8_t channels, uint8_t sample_bytes);

/* ---- rows ---- */

typedef struct pngshim_rows pngshim_rows;

#define PNGSHIM_ROW_NONE  ((uint8_t)1)
#define PNGSHIM_ROW_SUB   ((uint8_t)2)
#define PNGSHIM_ROW_UP    ((uint8_t)4)
#define PNGSHIM_ROW_AVG   ((uint8_t)8)
#define PNGSHIM_ROW_PAETH ((uint8_t)16)

typedef struct pngshim_row_layout {
    uint32_t width;
    uint8_t  channels;       /* of the input pixels, 1 ... 4 */
    uint8_t  sample_bytes;   /* of the input pixels and of the file: 1, or 2 in native order */
    uint8_t  file_channels;  /* as many; one fewer: drops opaque alpha; one more: adds opaque alpha;
                                1 or 2 of three or four: uses the first one for all colors */
    uint8_t  narrow;         /* samples of 2 bytes lose the lower one */
    uint8_t  depth;          /* bits of an index with a palette; 0 without */
    uint8_t  opaque;         /* treats every pixel as opaque */
    uint8_t  filters;        /* PNGSHIM_ROW_ bits, at least one */
} pngshim_row_layout;

int32_t pngshim_rows_open(pngshim_rows **rows);
void    pngshim_rows_close(pngshim_rows *rows);
/* Begins an image. The palette, if any, must have every color and live until the last row. */
int32_t pngshim_rows_start(pngshim_rows *rows, const pngshim_row_layout *layout, const pngshim_palette *palette,
                           pngshim_deflater *deflater, const pngshim_effort *effort);
/* Begins a pass: the input rows are still complete, but only every `step`-th pixel from `first` on is written. The
 * row above is empty. */
int32_t pngshim_rows_pass(pngshim_rows *rows, uint32_t first, uint32_t step);
/* Sets the row of pixels above the first added row. */
int32_t pngshim_rows_above(pngshim_rows *rows, const uint8_t *pixels);
/* Adds rows. With `base`, pixels that equal it become transparent black (the file has alpha).
 * PNGSHIM_REFUSED if a dropped alpha is not opaque. */
int32_t pngshim_rows_push(pngshim_rows *rows, const uint8_t *pixels, uint64_t stride, const uint8_t *base,
                          uint64_t base_stride, uint32_t count);
int32_t pngshim_rows_end(pngshim_rows *rows);

#endif
