/*
 * png_writer.c - writes the chunks up to the pixels with libpng; keeps its output in a buffer until it is taken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_shim.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE 160

struct pngshim_writer {
    png_structp    png;
    png_infop      info;
    pngshim_layout layout;
    uint8_t       *bytes;
    size_t         count, capacity;
    char           message[MESSAGE];
};

static void on_error(png_structp png, png_const_charp text) {
    pngshim_writer *w = png_get_error_ptr(png);
    snprintf(w->message, MESSAGE, "%s", text ? text : "");
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text) {
    pngshim_writer *w = png_get_error_ptr(png);
    snprintf(w->message, MESSAGE, "%s", text ? text : "");
}

static void on_write(png_structp png, png_bytep bytes, size_t count) {
    pngshim_writer *w = png_get_io_ptr(png);
    if (count > w->capacity - w->count) {
        size_t capacity = w->capacity ? w->capacity : 1 << 16;
        while (capacity - w->count < count) {
            if (capacity > SIZE_MAX / 2) png_error(png, "the output grows too large");
            capacity *= 2;
        }
        uint8_t *larger = realloc(w->bytes, capacity);
        if (!larger) png_error(png, "out of memory");
        w->bytes = larger;
        w->capacity = capacity;
    }
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
}

static void on_flush(png_structp png) { (void)png; }

int32_t pngshim_writer_open(const pngshim_layout *layout, pngshim_writer **writer) {
    pngshim_writer *w = calloc(1, sizeof *w);
    if (!w) return PNGSHIM_NO_MEMORY;
    w->layout = *layout;
    w->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, w, on_error, on_warning);
    w->info = w->png ? png_create_info_struct(w->png) : NULL;
    if (!w->info) {
        pngshim_writer_close(w);
        return PNGSHIM_NO_MEMORY;
    }
    *writer = w;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_FAILED;
    png_set_write_fn(w->png, w, on_write, on_flush);
    png_set_user_limits(w->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_benign_errors(w->png, 1);
    png_set_chunk_malloc_max(w->png, 0);
    png_set_IHDR(w->png, w->info, layout->width, layout->height, layout->depth, layout->color_type,
                 layout->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE,
                 PNG_FILTER_TYPE_BASE);
    return PNGSHIM_OK;
}

void pngshim_writer_close(pngshim_writer *w) {
    if (!w) return;
    if (w->png) png_destroy_write_struct(&w->png, w->info ? &w->info : NULL);
    free(w->bytes);
    free(w);
}

int32_t pngshim_writer_palette(pngshim_writer *w, const uint8_t *rgba, uint32_t count, uint32_t transparent) {
    png_color colors[256];
    png_byte alpha[256];
    if (count > 256 || transparent > count) return PNGSHIM_FAILED;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_FAILED;
    for (uint32_t i = 0; i < count; i++) {
        colors[i] = (png_color){rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2]};
        alpha[i] = rgba[4 * i + 3];
    }
    png_set_PLTE(w->png, w->info, colors, (int)count);
    if (transparent) png_set_tRNS(w->png, w->info, alpha, (int)transparent, NULL);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_profile(pngshim_writer *w, const uint8_t *bytes, uint64_t count) {
    if (count > PNG_UINT_31_MAX) return PNGSHIM_REFUSED;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_iCCP(w->png, w->info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, bytes, (png_uint_32)count);
    return png_get_valid(w->png, w->info, PNG_INFO_iCCP) ? PNGSHIM_OK : PNGSHIM_REFUSED;
}

int32_t pngshim_writer_exif(pngshim_writer *w, const uint8_t *bytes, uint64_t count) {
    if (count > PNG_UINT_31_MAX) return PNGSHIM_REFUSED;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_eXIf_1(w->png, w->info, (png_uint_32)count, (png_bytep)bytes);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_text(pngshim_writer *w, const char *key, const char *text, uint8_t is_utf8,
                            uint8_t compressed) {
    png_text entry;
    memset(&entry, 0, sizeof entry);
    entry.compression = is_utf8 ? (compressed ? PNG_ITXT_COMPRESSION_zTXt : PNG_ITXT_COMPRESSION_NONE)
                                : (compressed ? PNG_TEXT_COMPRESSION_zTXt : PNG_TEXT_COMPRESSION_NONE);
    entry.key = (png_charp)key;
    entry.text = (png_charp)text;
    entry.text_length = is_utf8 ? 0 : strlen(text);
    entry.itxt_length = is_utf8 ? strlen(text) : 0;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_text(w->png, w->info, &entry, 1);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_srgb(pngshim_writer *w) {
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_sRGB(w->png, w->info, PNG_sRGB_INTENT_PERCEPTUAL);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_density(pngshim_writer *w, uint32_t x, uint32_t y, uint8_t is_meter) {
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_pHYs(w->png, w->info, x, y, is_meter ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_chunk(pngshim_writer *w, const char *name, const uint8_t *bytes, uint64_t count) {
    png_unknown_chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    memcpy(chunk.name, name, 4);
    chunk.data = (png_bytep)bytes;
    chunk.size = (size_t)count;
    chunk.location = PNG_HAVE_IHDR;
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_REFUSED;
    png_set_keep_unknown_chunks(w->png, PNG_HANDLE_CHUNK_ALWAYS, NULL, 0);
    png_set_unknown_chunks(w->png, w->info, &chunk, 1);
    return PNGSHIM_OK;
}

int32_t pngshim_writer_begin(pngshim_writer *w) {
    if (setjmp(png_jmpbuf(w->png))) return PNGSHIM_FAILED;
    png_write_info(w->png, w->info);
    return PNGSHIM_OK;
}

void pngshim_writer_take(pngshim_writer *w, const uint8_t **bytes, uint64_t *count) {
    *bytes = w->bytes;
    *count = w->count;
    w->count = 0;
}

const char *pngshim_writer_message(const pngshim_writer *w) { return w->message; }
