/*
 * png_reader.c - reads the header, the palette, profiles and texts; every longjmp starts and ends in this file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_shim.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNINGS 8
#define MESSAGE  160

struct pngshim_reader {
    png_structp    png;
    png_infop      info;
    uint32_t       width, height;
    uint8_t        interlaced;
    uint32_t       warning_count;
    char           message[MESSAGE];
    char           warnings[WARNINGS][MESSAGE];
};

static void on_error(png_structp png, png_const_charp text) {
    pngshim_reader *r = png_get_error_ptr(png);
    snprintf(r->message, MESSAGE, "%s", text ? text : "");
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    pngshim_reader *r = png_get_error_ptr(png);
    if (r->warning_count < WARNINGS) snprintf(r->warnings[r->warning_count++], MESSAGE, "%s", text ? text : "");
}

int32_t pngshim_reader_open(uint32_t max_side, uint64_t max_chunk, pngshim_reader **reader) {
    pngshim_reader *r = calloc(1, sizeof *r);
    if (!r) return PNGSHIM_NO_MEMORY;
    r->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, r, on_error, on_warning);
    r->info = r->png ? png_create_info_struct(r->png) : NULL;
    if (!r->info) {
        pngshim_reader_close(r);
        return PNGSHIM_NO_MEMORY;
    }
    if (setjmp(png_jmpbuf(r->png))) {
        pngshim_reader_close(r);
        return PNGSHIM_FAILED;
    }
    uint32_t side = max_side && max_side < PNG_UINT_31_MAX ? max_side : PNG_UINT_31_MAX;
    png_set_user_limits(r->png, side, side);
    png_set_chunk_malloc_max(r->png, (png_alloc_size_t)max_chunk);
    png_set_progressive_read_fn(r->png, r, NULL, NULL, NULL);
    *reader = r;
    return PNGSHIM_OK;
}

void pngshim_reader_close(pngshim_reader *r) {
    if (!r) return;
    if (r->png) png_destroy_read_struct(&r->png, r->info ? &r->info : NULL, NULL);
    free(r);
}

int32_t pngshim_reader_push(pngshim_reader *r, const uint8_t *bytes, uint64_t count) {
    if (setjmp(png_jmpbuf(r->png))) return PNGSHIM_FAILED;
    png_process_data(r->png, r->info, (png_bytep)bytes, (size_t)count);
    r->width = png_get_image_width(r->png, r->info);
    r->height = png_get_image_height(r->png, r->info);
    r->interlaced = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
    return PNGSHIM_OK;
}

void pngshim_reader_header(pngshim_reader *r, pngshim_header *header) {
    header->width = r->width;
    header->height = r->height;
    header->depth = png_get_bit_depth(r->png, r->info);
    header->color_type = png_get_color_type(r->png, r->info);
    header->interlaced = r->interlaced;
    header->has_palette = png_get_valid(r->png, r->info, PNG_INFO_PLTE) != 0;
    header->has_transparency = png_get_valid(r->png, r->info, PNG_INFO_tRNS) != 0;
}

void pngshim_reader_colors(pngshim_reader *r, pngshim_colors *colors) {
    png_colorp palette = NULL;
    png_bytep alpha = NULL;
    png_color_16p key = NULL;
    int entries = 0, alphas = 0;
    memset(colors, 0, sizeof *colors);
    colors->depth = png_get_bit_depth(r->png, r->info);
    colors->color_type = png_get_color_type(r->png, r->info);
    for (int i = 0; i < 256; i++) colors->palette[4 * i + 3] = 0xFF;
    if (png_get_PLTE(r->png, r->info, &palette, &entries) && palette)
        for (int i = 0; i < entries && i < 256; i++) {
            colors->palette[4 * i] = palette[i].red;
            colors->palette[4 * i + 1] = palette[i].green;
            colors->palette[4 * i + 2] = palette[i].blue;
        }
    if (!png_get_tRNS(r->png, r->info, &alpha, &alphas, &key)) return;
    if (colors->color_type == PNG_COLOR_TYPE_PALETTE) {
        for (int i = 0; alpha && i < alphas && i < 256; i++) colors->palette[4 * i + 3] = alpha[i];
    } else if (key) {
        int is_gray = colors->color_type == PNG_COLOR_TYPE_GRAY;
        colors->has_key = 1;
        colors->key[0] = is_gray ? key->gray : key->red;
        colors->key[1] = key->green;
        colors->key[2] = key->blue;
    }
}

int32_t pngshim_reader_profile(pngshim_reader *r, const uint8_t **bytes, uint64_t *count) {
    png_charp name;
    png_bytep profile;
    png_uint_32 length;
    int method;
    if (setjmp(png_jmpbuf(r->png))) return PNGSHIM_REFUSED;
    if (!png_get_iCCP(r->png, r->info, &name, &method, &profile, &length)) return PNGSHIM_REFUSED;
    *bytes = profile;
    *count = length;
    return PNGSHIM_OK;
}

int32_t pngshim_reader_text(pngshim_reader *r, uint32_t index, pngshim_text *text) {
    png_textp entries = NULL;
    int count = 0;
    if (setjmp(png_jmpbuf(r->png))) return PNGSHIM_REFUSED;
    png_get_text(r->png, r->info, &entries, &count);
    if (count < 0 || index >= (uint32_t)count) return PNGSHIM_REFUSED;
    png_textp entry = entries + index;
    int is_utf8 = entry->compression == PNG_ITXT_COMPRESSION_NONE || entry->compression == PNG_ITXT_COMPRESSION_zTXt;
    text->key = entry->key;
    text->bytes = entry->text;
    text->length = !entry->text ? 0 : is_utf8 ? entry->itxt_length : entry->text_length;
    text->is_utf8 = (uint8_t)is_utf8;
    return PNGSHIM_OK;
}

const char *pngshim_reader_message(const pngshim_reader *r) { return r->message; }

const char *pngshim_reader_warning(const pngshim_reader *r, uint32_t index) {
    return index < r->warning_count ? r->warnings[index] : NULL;
}
