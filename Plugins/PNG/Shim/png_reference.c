/*
 * png_reference.c - decodes a whole file by libpng; tests compare the engine with it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_shim.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

typedef struct input {
    const uint8_t *at;
    uint64_t left;
} input;

static void on_error(png_structp png, png_const_charp text) {
    (void)text;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) { (void)png, (void)text; }

static void on_read(png_structp png, png_bytep to, size_t count) {
    input *in = png_get_io_ptr(png);
    if (count > in->left) png_error(png, "the file ends");
    memcpy(to, in->at, count);
    in->at += count;
    in->left -= count;
}

int32_t pngshim_reference(const uint8_t *file, uint64_t count, const pngshim_target *target) {
    input in = {file, count};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int32_t status = PNGSHIM_FAILED;
    if (info && !setjmp(png_jmpbuf(png))) {
        png_set_read_fn(png, &in, on_read);
        png_read_info(png, info);
        int color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
        int has_alpha = (color & PNG_COLOR_MASK_ALPHA) || png_get_valid(png, info, PNG_INFO_tRNS);
        png_set_expand(png);
        if (depth == 16 && target->bits == 8) png_set_strip_16(png);
        if (target->channels > 2 && !(color & PNG_COLOR_MASK_COLOR)) png_set_gray_to_rgb(png);
        if (target->channels % 2 == 0 && !has_alpha) png_set_add_alpha(png, 0xFFFF, PNG_FILLER_AFTER);
        if (target->bits == 16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) png_set_swap(png);
        int passes = png_set_interlace_handling(png);
        png_read_update_info(png, info);
        uint32_t height = png_get_image_height(png, info);
        if (png_get_rowbytes(png, info) == target->row_bytes) {
            for (int p = 0; p < passes; p++)
                for (uint32_t y = 0; y < height; y++) png_read_row(png, target->pixels + y * target->stride, NULL);
            png_read_end(png, NULL);
            status = PNGSHIM_OK;
        }
    }
    if (png) png_destroy_read_struct(&png, info ? &info : NULL, NULL);
    return status;
}
