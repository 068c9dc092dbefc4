/*
 * tiff_page.c - the facts of a directory, and the settings of the codecs that depend on them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <string.h>

/* Lets the codec deliver the form that the room reads: RGB of JPEG, floats of LogLuv. */
static void choose_form(TIFF *tiff, tiff_shim_page *page) {
    if (page->compression == COMPRESSION_JPEG && page->photometric == PHOTOMETRIC_YCBCR
        && page->planar == PLANARCONFIG_CONTIG && page->samples == 3 && page->bits == 8) {
        page->is_converted = TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) != 0;
        if (page->is_converted) page->photometric = PHOTOMETRIC_RGB;
    }
    if (page->compression == COMPRESSION_SGILOG || page->compression == COMPRESSION_SGILOG24) {
        TIFFSetField(tiff, TIFFTAG_SGILOGDATAFMT, SGILOGDATAFMT_FLOAT);
        page->bits = 32, page->sample_format = SAMPLEFORMAT_IEEEFP;
    }
    if (page->compression == COMPRESSION_PIXARLOG) {
        int form = page->bits == 8 ? PIXARLOGDATAFMT_8BIT
                   : page->bits == 16 && page->sample_format != SAMPLEFORMAT_IEEEFP ? PIXARLOGDATAFMT_16BIT
                                                                                    : PIXARLOGDATAFMT_FLOAT;
        TIFFSetField(tiff, TIFFTAG_PIXARLOGDATAFMT, form);
        if (form == PIXARLOGDATAFMT_FLOAT) page->bits = 32, page->sample_format = SAMPLEFORMAT_IEEEFP;
    }
    page->needs_rgba = page->compression == COMPRESSION_OJPEG
                       || (page->photometric == PHOTOMETRIC_YCBCR && page->bits == 8);
}

static void read_extras(TIFF *tiff, tiff_shim_page *page) {
    uint16_t count = 0, *kinds = NULL;
    if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) || !kinds) return;
    page->extra_count = count;
    for (uint16_t i = 0; i < count && i < 8; i++) page->extra[i] = kinds[i];
}

static void read_density(TIFF *tiff, tiff_shim_page *page) {
    if (!TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &page->x_resolution)
        || !TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &page->y_resolution))
        return;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &page->resolution_unit);
}

static void read_blocks(TIFF *tiff, tiff_shim_page *page) {
    page->is_tiled = TIFFIsTiled(tiff) != 0;
    if (page->is_tiled) {
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &page->block_width);
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &page->block_height);
        page->block_bytes = TIFFTileSize64(tiff);
        page->row_bytes   = TIFFTileRowSize64(tiff);
        page->block_count = TIFFNumberOfTiles(tiff);
    } else {
        page->block_width = page->width;
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &page->block_height);
        if (page->block_height == 0 || page->block_height > page->height) page->block_height = page->height;
        page->block_bytes = TIFFVStripSize64(tiff, page->block_height);
        page->row_bytes   = TIFFScanlineSize64(tiff);
        page->block_count = TIFFNumberOfStrips(tiff);
    }
}

int32_t tiff_shim_select(tiff_shim_file *file, uint64_t offset, tiff_shim_page *target) {
    TIFF           *tiff = file->tiff;
    tiff_shim_page *page = &file->page;
    memset(page, 0, sizeof *page);
    file->messages.error[0] = 0;
    if (!TIFFSetSubDirectory(tiff, offset)) return 1;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page->width)
        || !TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page->height))
        return 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &page->planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &page->compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page->sample_format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_INKSET, &page->ink_set);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page->photometric))
        /* A missing field: what the other fields suggest. */
        page->photometric = page->samples >= 3 ? PHOTOMETRIC_RGB
                            : page->compression >= 2 && page->compression <= 4 ? PHOTOMETRIC_MINISWHITE
                                                                               : PHOTOMETRIC_MINISBLACK;
    if (!TIFFGetField(tiff, TIFFTAG_ORIENTATION, &page->orientation)) page->orientation = 0;
    read_extras(tiff, page);
    read_density(tiff, page);
    page->is_codec_missing = !TIFFIsCODECConfigured(page->compression);
    if (!page->is_codec_missing) choose_form(tiff, page);
    read_blocks(tiff, page);
    if (page->needs_rgba) TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
    *target = *page;
    return 0;
}

int32_t tiff_shim_place(tiff_shim_file *file, uint32_t block, uint64_t *offset, uint64_t *count) {
    int failed = 0;
    *offset    = TIFFGetStrileOffsetWithErr(file->tiff, block, &failed);
    if (!failed) *count = TIFFGetStrileByteCountWithErr(file->tiff, block, &failed);
    return failed;
}

int32_t tiff_shim_color_map(tiff_shim_file *file, uint16_t *target, uint32_t count) {
    uint16_t *parts[3] = {NULL, NULL, NULL};
    if (file->page.bits > 16 || count != 3u << file->page.bits) return 1;
    if (!TIFFGetField(file->tiff, TIFFTAG_COLORMAP, &parts[0], &parts[1], &parts[2])) return 1;
    for (int i = 0; i < 3; i++) {
        if (!parts[i]) return 1;
        memcpy(target + ((size_t)i << file->page.bits), parts[i], sizeof(uint16_t) << file->page.bits);
    }
    return 0;
}

const uint8_t *tiff_shim_jpeg_tables(tiff_shim_file *file, uint32_t *count) {
    void *tables = NULL;
    *count       = 0;
    if (file->page.compression != COMPRESSION_JPEG) return NULL;
    return TIFFGetField(file->tiff, TIFFTAG_JPEGTABLES, count, &tables) ? tables : NULL;
}
