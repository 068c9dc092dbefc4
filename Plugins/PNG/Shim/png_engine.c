/*
 * png_engine.c - decodes compressed bytes into rows in the caller's memory.
 *
 *     bytes -> inflate -> work: | prior row | rows ... | part of a row | -> unfiltered in place -> converted -> image
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"
#include "png_shim.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

/* The bytes inflated at once: enough to use the inflater well, few enough to stay in a processor's cache. */
#define WORK ((size_t)256 << 10)
/* Room to detect that the stream continues after the image. */
#define SPARE 64

struct pngshim_engine {
    struct inflate_state inflate;
    png_conversion conversion;
    pngshim_target target;
    uint32_t width, height;
    unsigned pixel;               /* bytes from a sample to that of the next pixel, as stored; at least 1 */
    uint8_t interlaced, pass, end_pass, shift, has_begun, ended, extra, was_full;
    const char *message;
    uint64_t unused;              /* bytes behind the end of the stream */

    uint8_t *memory;
    size_t   reserved;            /* bytes at `memory` */
    uint8_t *prior, *indices, *wide, *work;
    size_t   capacity, begin, end;
    uint32_t row, pass_rows, pass_width;
    size_t   stride;              /* bytes of a stored row with its filter byte */
    uint64_t rows_left;
    uint32_t first_row, end_row;
    uint32_t band_row, band_end;  /* the rows that the target has */
};

#if defined(__x86_64__)
/* ISA-L's checksums leave the upper parts of the wide registers in use. Until they are cleared, every SSE
 * instruction waits for the last write of the same register: the filters take twice the time. */
__attribute__((target("avx"))) static void clear_upper(void) { __builtin_ia32_vzeroupper(); }
static void tidy_registers(void) {
    if (__builtin_cpu_supports("avx")) clear_upper();
}
#else
static void tidy_registers(void) {}
#endif

static size_t stored_bytes(const pngshim_engine *e, uint64_t width) {
    static const uint8_t channels[7] = {1, 0, 3, 1, 2, 0, 4};
    return (size_t)((width * channels[e->conversion.color_type] * e->conversion.depth + 7) / 8);
}

static uint32_t pass_size(uint32_t side, unsigned first, unsigned step) {
    return side > first ? (uint32_t)(((uint64_t)side - first + step - 1) / step) : 0;
}

/* Moves to the next pass that has pixels. */
static void start_pass(pngshim_engine *e, unsigned pass) {
    e->row = 0;
    e->pass_width = e->width;
    e->pass_rows = e->height;
    if (e->interlaced)
        for (; pass < e->end_pass; pass++) {
            e->pass_width = pass_size(e->width, png_pass_x[pass], png_pass_dx[pass]);
            e->pass_rows = pass_size(e->height, png_pass_y[pass], png_pass_dy[pass]);
            if (e->pass_width && e->pass_rows) break;
        }
    e->pass = (uint8_t)pass;
    e->stride = 1 + stored_bytes(e, e->pass_width);
    memset(e->prior, 0, e->stride - 1);
}

int32_t pngshim_engine_open(pngshim_engine **engine) {
    *engine = calloc(1, sizeof **engine);
    return *engine ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

void pngshim_engine_close(pngshim_engine *e) {
    if (!e) return;
    free(e->memory);
    free(e);
}

void pngshim_engine_colors(pngshim_engine *e, const pngshim_colors *colors) {
    png_conversion *c = &e->conversion;
    c->depth = colors->depth;
    c->color_type = colors->color_type;
    c->has_key = colors->has_key;
    /* Samples of less than 8 bits are compared when they are expanded. */
    unsigned scale = c->depth < 8 ? 255u / ((1u << c->depth) - 1) : 1, mask = (1u << c->depth) - 1;
    for (int i = 0; i < 3; i++) c->key[i] = (uint16_t)((colors->key[i] & mask) * scale);
    memcpy(c->palette, colors->palette, sizeof c->palette);
    unsigned bits = (unsigned)stored_bytes(e, 8);
    e->pixel = bits < 8 ? 1 : bits / 8;
}

static size_t aligned(size_t count) { return (count + 63) & ~(size_t)63; }

/* Assigns the parts of the memory; returns the total size. */
static size_t lay_out(const pngshim_engine *e, uint32_t width, uint32_t height, uint64_t row_bytes, size_t *capacity) {
    size_t stored = stored_bytes(e, width) + 1;
    size_t all = height > WORK / stored ? WORK : (size_t)height * stored;
    *capacity = (all < 2 * stored ? 2 * stored : all) + SPARE;
    return aligned(stored + PNG_SLACK) + aligned(width + (size_t)8) + aligned(row_bytes + PNG_SLACK) +
           aligned(*capacity + PNG_SLACK);
}

uint64_t pngshim_engine_memory(pngshim_engine *e, uint32_t width, uint32_t height, uint64_t row_bytes) {
    size_t capacity, wanted = lay_out(e, width, height, row_bytes, &capacity);
    return sizeof *e + (wanted > e->reserved ? wanted : e->reserved);
}

int32_t pngshim_engine_begin(pngshim_engine *e, uint32_t width, uint32_t height, uint8_t interlaced,
                             const pngshim_target *target) {
    size_t capacity, wanted = lay_out(e, width, height, target->row_bytes, &capacity);
    if (wanted > e->reserved) {
        free(e->memory);
        e->reserved = 0;
        e->memory = aligned_alloc(64, wanted);
        if (!e->memory) return PNGSHIM_NO_MEMORY;
        e->reserved = wanted;
    }
    e->target = *target;
    e->conversion.to_bits = target->bits;
    e->conversion.to_channels = target->channels;
    e->width = width;
    e->height = height;
    e->interlaced = interlaced;
    e->prior = e->memory;
    e->indices = e->prior + aligned(stored_bytes(e, width) + 1 + PNG_SLACK);
    e->wide = e->indices + aligned(width + (size_t)8);
    e->work = e->wide + aligned(target->row_bytes + PNG_SLACK);
    e->capacity = capacity;
    /* Bytes behind a row are read, and written back unchanged. */
    memset(e->prior, 0, stored_bytes(e, width) + 1 + PNG_SLACK);
    memset(e->work + capacity, 0, PNG_SLACK);
    e->begin = e->end = 0;
    e->has_begun = e->ended = e->extra = e->was_full = 0;
    e->shift = target->shift;
    e->end_pass = (uint8_t)(7 - 2 * target->shift);
    e->band_row = 0;
    e->band_end = height;
    e->first_row = e->end_row = 0;
    e->message = "";
    e->unused = 0;
    e->rows_left = height;
    if (interlaced) {
        e->rows_left = 0;
        for (int p = 0; p < e->end_pass; p++)
            if (pass_size(width, png_pass_x[p], png_pass_dx[p]))
                e->rows_left += pass_size(height, png_pass_y[p], png_pass_dy[p]);
    }
    start_pass(e, 0);
    isal_inflate_init(&e->inflate);
    e->inflate.crc_flag = ISAL_ZLIB;
    return PNGSHIM_OK;
}

int32_t pngshim_engine_band(pngshim_engine *e, const pngshim_target *target, uint32_t end_row) {
    if (e->interlaced || e->row != e->band_end % e->height || end_row <= e->row || end_row > e->height ||
        target->row_bytes != e->target.row_bytes)
        return PNGSHIM_REFUSED;
    e->target = *target;
    e->band_row = e->row;
    e->band_end = end_row;
    return PNGSHIM_OK;
}

/* Whether the next row does not fit the target. */
static int is_band_full(const pngshim_engine *e) { return !e->interlaced && e->rows_left && e->row >= e->band_end; }

/* Puts row `e->row` of the pass into the image. */
static void emit(pngshim_engine *e, const uint8_t *stored) {
    uint32_t y = e->row, end;
    if (!e->interlaced) {
        uint8_t *to = e->target.pixels + (size_t)(y - e->band_row) * e->target.stride;
        png_convert(&e->conversion, to, stored, e->width, e->indices);
        end = y + 1;
    } else {
        png_grid grid = png_grid_of(e->pass, e->shift, e->width, e->height);
        size_t pixel = (size_t)(e->target.row_bytes / grid.width);
        y = (uint32_t)(y * (uint64_t)grid.dy + grid.y);
        end = y + 1;
        png_convert(&e->conversion, e->wide, stored, e->pass_width, e->indices);
        if (e->target.blocky)
            end = png_place_blocks(e->target.pixels, e->target.stride, pixel, &grid, e->wide, y);
        else
            png_place(e->target.pixels, e->target.stride, pixel, &grid, e->wide, y);
    }
    if (e->first_row == e->end_row) {
        e->first_row = y;
        e->end_row = end;
    }
    if (y < e->first_row) e->first_row = y;
    if (end > e->end_row) e->end_row = end;
    e->row++;
    e->rows_left--;
}

/* Moves complete rows that fit the target out of the work memory. */
static int32_t take_rows(pngshim_engine *e) {
    const uint8_t *prior = NULL;
    int32_t status = PNGSHIM_OK;
    while (e->rows_left && status == PNGSHIM_OK) {
        size_t there = (e->end - e->begin) / e->stride;
        size_t rows = (e->interlaced ? e->pass_rows : e->band_end) - e->row;
        if (rows > there) rows = there;
        if (!rows) break;
        uint8_t *first = e->work + e->begin;
        size_t good = png_unfilter(first, e->stride, rows, prior ? prior : e->prior, e->pixel);
        if (good < rows) {
            e->message = "bad adaptive filter value";
            status = PNGSHIM_FAILED;
        }
        for (size_t i = 0; i < good; i++) emit(e, first + i * e->stride + 1);
        if (good) prior = first + (good - 1) * e->stride + 1;
        e->begin += good * e->stride;
        if (e->row == e->pass_rows && e->rows_left) {
            prior = NULL;
            start_pass(e, e->pass + 1u);
        }
    }
    if (prior) memcpy(e->prior, prior, e->stride - 1);
    return status;
}

/* Moves the rest of the work memory to its front. */
static void compact(pngshim_engine *e) {
    if (!e->begin) return;
    memmove(e->work, e->work + e->begin, e->end - e->begin);
    e->end -= e->begin;
    e->begin = 0;
}

static const char *inflate_message(int code) {
    switch (code) {
        case ISAL_INVALID_BLOCK: return "invalid block type";
        case ISAL_INVALID_SYMBOL: return "invalid code";
        case ISAL_INVALID_LOOKBACK: return "invalid distance too far back";
        case ISAL_INCORRECT_CHECKSUM: return "incorrect data check";
        case ISAL_NEED_DICT: return "a preset dictionary is needed";
        default: return "incorrect header of the compressed data";
    }
}

int32_t pngshim_engine_push(pngshim_engine *e, const uint8_t *bytes, uint64_t count, uint64_t *taken) {
    *taken = count;
    if (e->ended) e->unused += count;
    /* A window above 32 KiB does not exist (RFC 1950, 2.2), and the inflater does not check it. */
    if (count && !e->has_begun && bytes[0] >> 4 > 7) {
        e->message = "invalid window size";
        return PNGSHIM_FAILED;
    }
    if (count) e->has_begun = 1;
    /* The bytes that a full band left over. */
    if (e->begin < e->end) {
        if (take_rows(e)) return PNGSHIM_FAILED;
        if (!e->rows_left && e->end > e->begin) e->extra = e->ended = 1;
    }
    while ((count || e->was_full) && !e->ended && !is_band_full(e)) {
        compact(e);
        uint32_t slice = count > 1u << 30 ? 1u << 30 : (uint32_t)count;
        uint32_t room = e->capacity - e->end > 1u << 30 ? 1u << 30 : (uint32_t)(e->capacity - e->end);
        e->inflate.next_in = (uint8_t *)bytes;
        e->inflate.avail_in = slice;
        e->inflate.next_out = e->work + e->end;
        e->inflate.avail_out = room;
        int code = isal_inflate(&e->inflate);
        tidy_registers();
        e->was_full = e->inflate.avail_out == 0;
        e->end += room - e->inflate.avail_out;
        bytes += slice - e->inflate.avail_in;
        count -= slice - e->inflate.avail_in;
        if (take_rows(e)) return PNGSHIM_FAILED;
        if (code != ISAL_DECOMP_OK) {
            e->ended = 1;
            e->message = inflate_message(code);
            /* Once all rows are decoded, only a wrong checksum can show that one of them is wrong. */
            return e->rows_left || code == ISAL_INCORRECT_CHECKSUM ? PNGSHIM_FAILED : PNGSHIM_OK;
        }
        if (!e->rows_left && e->end > e->begin) e->extra = e->ended = 1;
        if (!e->rows_left && e->shift) e->ended = 1;
        /* The last rows may be pending for the next band. */
        if (e->inflate.block_state == ISAL_BLOCK_FINISH) {
            e->ended = 1;
            /* The inflater reads ahead, up to eight bytes. */
            e->unused += count + (uint64_t)e->inflate.read_in_length / 8;
            count = 0;
        }
    }
    if (!e->ended) *taken -= count;
    return PNGSHIM_OK;
}

uint8_t pngshim_engine_is_full(const pngshim_engine *e) { return is_band_full(e) || (e->shift && !e->rows_left); }

uint8_t pngshim_engine_has_ended(const pngshim_engine *e) { return e->ended; }

void pngshim_engine_progress(pngshim_engine *e, pngshim_progress *progress) {
    progress->first_row = e->first_row;
    progress->end_row = e->end_row;
    progress->complete = e->rows_left == 0;
    progress->ended = e->ended;
    progress->extra = e->extra;
    progress->unused = e->unused;
    e->first_row = e->end_row = 0;
}

const char *pngshim_engine_message(const pngshim_engine *e) { return e->message; }

uint32_t pngshim_crc(uint32_t crc, const uint8_t *bytes, uint64_t count) {
    crc = crc32_gzip_refl(crc, bytes, count);
    tidy_registers();
    return crc;
}
