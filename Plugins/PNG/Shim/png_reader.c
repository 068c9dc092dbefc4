/*
 * png_reader.c - the push reader of libpng; every longjmp starts and ends in this file.
 *
 * Interlaced rows are taken as they are stored, pass by pass, and their pixels put into place here: libpng would
 * first widen every row of every pass to the full width.
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
    pngshim_target target;
    uint32_t       width, height;
    uint32_t       first_row, end_row;
    uint64_t       rows_left;
    uint8_t        interlaced, started, damaged;
    uint32_t       warning_count;
    char           message[MESSAGE];
    char           warnings[WARNINGS][MESSAGE];
};

/* Adam7: where the pixels of a pass stand and the block each stands for (PNG 3rd edition, 8.2). */
static const uint8_t pass_x[7]  = {0, 4, 0, 2, 0, 1, 0};
static const uint8_t pass_y[7]  = {0, 0, 4, 0, 2, 0, 1};
static const uint8_t pass_dx[7] = {8, 8, 4, 4, 2, 2, 1};
static const uint8_t pass_dy[7] = {8, 8, 8, 4, 4, 2, 2};
static const uint8_t block_w[7] = {8, 4, 4, 2, 2, 1, 1};
static const uint8_t block_h[7] = {8, 8, 4, 4, 2, 2, 1};

static void on_error(png_structp png, png_const_charp text) {
    pngshim_reader *r = png_get_error_ptr(png);
    snprintf(r->message, MESSAGE, "%s", text ? text : "");
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    pngshim_reader *r = png_get_error_ptr(png);
    /* While rows are missing libpng only warns of broken data, and goes on without it. */
    if (r->started && r->rows_left) {
        r->damaged = 1;
        snprintf(r->message, MESSAGE, "%s", text ? text : "");
    } else if (r->warning_count < WARNINGS) snprintf(r->warnings[r->warning_count++], MESSAGE, "%s", text ? text : "");
}

/* Called in front of the first IDAT byte: the last moment for conversions. */
static void on_info(png_structp png, png_infop info) {
    pngshim_reader *r = png_get_progressive_ptr(png);
    if (!r->target.pixels) png_error(png, "pixels without a place to go");
    int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    int has_alpha = (color & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
    png_set_expand(png);
    if (depth == 16 && r->target.bits == 8) png_set_strip_16(png);
    if (r->target.color && !(color & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(png);
    if (r->target.alpha && !has_alpha) png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (r->target.bits == 16) png_set_swap(png);
#endif
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != r->target.row_bytes) png_error(png, "a conversion gave another row size");

    r->rows_left = r->height;
    if (r->interlaced) {
        r->rows_left = 0;
        for (int p = 0; p < 7; p++)
            if (r->width > pass_x[p] && r->height > pass_y[p])
                r->rows_left += (r->height - pass_y[p] + pass_dy[p] - 1) / pass_dy[p];
    }
    r->started = 1;
}

static inline __attribute__((always_inline)) void spread(uint8_t *to, const uint8_t *from, uint32_t x, uint32_t dx,
                                                         uint32_t width, size_t pixel) {
    for (; x < width; x += dx, from += pixel) memcpy(to + x * pixel, from, pixel);
}

/* Puts one row of a pass into place. */
static void place(const pngshim_reader *r, const uint8_t *row, uint32_t y, int p) {
    size_t pixel = (size_t)(r->target.row_bytes / r->width);
    uint8_t *to = r->target.pixels + y * r->target.stride;
    switch (pixel) {
        case 1: spread(to, row, pass_x[p], pass_dx[p], r->width, 1); break;
        case 2: spread(to, row, pass_x[p], pass_dx[p], r->width, 2); break;
        case 3: spread(to, row, pass_x[p], pass_dx[p], r->width, 3); break;
        case 4: spread(to, row, pass_x[p], pass_dx[p], r->width, 4); break;
        case 6: spread(to, row, pass_x[p], pass_dx[p], r->width, 6); break;
        default: spread(to, row, pass_x[p], pass_dx[p], r->width, 8); break;
    }
}

/* Like place(), and fills the block around each pixel, for a look at an unfinished picture. */
static uint32_t place_blocks(const pngshim_reader *r, const uint8_t *row, uint32_t y, int p) {
    size_t pixel = (size_t)(r->target.row_bytes / r->width);
    uint32_t end = y + block_h[p] < r->height ? y + block_h[p] : r->height;
    uint8_t *to = r->target.pixels + y * r->target.stride;
    for (uint32_t x = pass_x[p]; x < r->width; x += pass_dx[p], row += pixel) {
        uint32_t stop = x + block_w[p] < r->width ? x + block_w[p] : r->width;
        for (uint32_t i = x; i < stop; i++) memcpy(to + i * pixel, row, pixel);
    }
    /* A block never covers a pixel of an earlier pass, so copies of this row's blocks alone are right. */
    for (uint32_t below = y + 1; below < end; below++) {
        uint8_t *copy = r->target.pixels + below * r->target.stride;
        for (uint32_t x = pass_x[p]; x < r->width; x += pass_dx[p]) {
            uint32_t stop = x + block_w[p] < r->width ? x + block_w[p] : r->width;
            memcpy(copy + x * pixel, to + x * pixel, (stop - x) * pixel);
        }
    }
    return end;
}

static void on_row(png_structp png, png_bytep row, png_uint_32 number, int pass) {
    pngshim_reader *r = png_get_progressive_ptr(png);
    if (!row || r->rows_left == 0 || pass > 6) return;
    uint64_t y = r->interlaced ? (uint64_t)number * pass_dy[pass] + pass_y[pass] : number;
    if (y >= r->height) return;
    uint32_t end = (uint32_t)y + 1;
    if (!r->interlaced)
        memcpy(r->target.pixels + y * r->target.stride, row, r->target.row_bytes);
    else if (r->target.blocky)
        end = place_blocks(r, row, (uint32_t)y, pass);
    else
        place(r, row, (uint32_t)y, pass);
    if (r->first_row == r->end_row) {
        r->first_row = (uint32_t)y;
        r->end_row = end;
    }
    if (y < r->first_row) r->first_row = (uint32_t)y;
    if (end > r->end_row) r->end_row = end;
    r->rows_left--;
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
    /* An index without a colour is black; looking at every row for a warning about it is not worth the time. */
    png_set_check_for_invalid_index(r->png, 0);
    png_set_progressive_read_fn(r->png, r, on_info, on_row, NULL);
    *reader = r;
    return PNGSHIM_OK;
}

void pngshim_reader_close(pngshim_reader *r) {
    if (!r) return;
    if (r->png) png_destroy_read_struct(&r->png, r->info ? &r->info : NULL, NULL);
    free(r);
}

void pngshim_reader_aim(pngshim_reader *r, const pngshim_target *target) { r->target = *target; }

int32_t pngshim_reader_push(pngshim_reader *r, const uint8_t *bytes, uint64_t count) {
    if (setjmp(png_jmpbuf(r->png))) return PNGSHIM_FAILED;
    png_process_data(r->png, r->info, (png_bytep)bytes, (size_t)count);
    if (!r->started) {
        r->width = png_get_image_width(r->png, r->info);
        r->height = png_get_image_height(r->png, r->info);
        r->interlaced = png_get_interlace_type(r->png, r->info) != PNG_INTERLACE_NONE;
    }
    return r->damaged ? PNGSHIM_FAILED : PNGSHIM_OK;
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

void pngshim_reader_progress(pngshim_reader *r, pngshim_progress *progress) {
    progress->first_row = r->first_row;
    progress->end_row = r->end_row;
    progress->complete = r->started && r->rows_left == 0;
    r->first_row = r->end_row = 0;
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
