/*
 * tiff_blocks.c - strips, tiles and rows to samples.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <string.h>

int32_t tiff_shim_read_block(tiff_shim_file *file, uint32_t block, uint8_t *target, uint64_t count) {
    uint32_t before = file->messages.errors;
    tmsize_t done;
    memset(target, 0, count);
    done = file->page.is_tiled ? TIFFReadEncodedTile(file->tiff, block, target, (tmsize_t)count)
                               : TIFFReadEncodedStrip(file->tiff, block, target, (tmsize_t)count);
    return done < 0 || file->messages.errors != before;
}

int32_t tiff_shim_decode_block(tiff_shim_file *file, uint32_t block, uint8_t *coded, uint64_t coded_count,
                               uint8_t *target, uint64_t count) {
    uint32_t before = file->messages.errors;
    memset(target, 0, count);
    return !TIFFReadFromUserBuffer(file->tiff, block, coded, (tmsize_t)coded_count, target, (tmsize_t)count)
           || file->messages.errors != before;
}

int32_t tiff_shim_read_row(tiff_shim_file *file, uint32_t row, uint8_t *target, uint64_t count) {
    uint32_t before = file->messages.errors;
    memset(target, 0, count);
    if (count < file->page.row_bytes) return 1;
    return TIFFReadScanline(file->tiff, target, row, 0) < 0 || file->messages.errors != before;
}

int32_t tiff_shim_read_rgba(tiff_shim_file *file, uint32_t block, uint32_t *pixels, uint64_t count) {
    const tiff_shim_page *page   = &file->page;
    uint32_t              before = file->messages.errors;
    uint32_t              across = (page->width - 1) / page->block_width + 1;
    uint32_t              column = page->is_tiled ? block % across * page->block_width : 0;
    uint32_t              row    = (page->is_tiled ? block / across : block) * page->block_height;
    uint32_t              rows   = page->block_height;
    int                   done;
    memset(pixels, 0, count * sizeof *pixels);
    if (count < (uint64_t)page->block_width * page->block_height || row >= page->height) return 1;
    if (!page->is_tiled && rows > page->height - row) rows = page->height - row;
    done = page->is_tiled ? TIFFReadRGBATileExt(file->tiff, column, row, pixels, 0)
                          : TIFFReadRGBAStripExt(file->tiff, row, pixels, 0);
    /* The library fills from the bottom row up. */
    for (uint32_t y = 0; y < rows / 2; y++) {
        uint32_t *upper = pixels + (size_t)y * page->block_width;
        uint32_t *lower = pixels + (size_t)(rows - 1 - y) * page->block_width;
        for (uint32_t x = 0; x < page->block_width; x++) {
            uint32_t pixel = upper[x];
            upper[x]       = lower[x];
            lower[x]       = pixel;
        }
    }
    return !done || file->messages.errors != before;
}
