/*
 * png_deflate.c - zlib streams by zlib (small), ISA-L (fast) or libdeflate (small and fast, all at once).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_deflate.h"

#include "png_join.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PIECE ((size_t)1 << 16)
/* The bytes in front of the first part of a stream and behind the last (RFC 1950, 2.2). */
#define HEAD 2
#define CHECKSUM 4

struct pngshim_deflater {
    z_stream             zlib;
    struct isal_zstream *isal;
    uint8_t             *isal_level[4];
    struct libdeflate_compressor *whole;
    int                  whole_level;
    uint8_t             *input;
    size_t               input_count, input_capacity;
    pngshim_effort       effort;
    uint8_t              has_zlib, zlib_is_raw;
    uint32_t             checksum; /* of a part */
    uint64_t             length;
    uint8_t             *bytes;
    size_t               count, capacity;
};

int32_t pngshim_deflater_open(pngshim_deflater **deflater) {
    *deflater = calloc(1, sizeof **deflater);
    return *deflater ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

void pngshim_deflater_close(pngshim_deflater *d) {
    if (!d) return;
    if (d->has_zlib) deflateEnd(&d->zlib);
    for (int i = 0; i < 4; i++) free(d->isal_level[i]);
    free(d->isal);
    if (d->whole) libdeflate_free_compressor(d->whole);
    free(d->input);
    free(d->bytes);
    free(d);
}

static int32_t start_isal(pngshim_deflater *d, int level) {
    static const uint32_t sizes[4] = {0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT, ISAL_DEF_LVL3_DEFAULT};
    if (!d->isal) d->isal = malloc(sizeof *d->isal);
    if (sizes[level] && !d->isal_level[level]) d->isal_level[level] = malloc(sizes[level]);
    if (!d->isal || (sizes[level] && !d->isal_level[level])) return PNGSHIM_NO_MEMORY;
    isal_deflate_init(d->isal);
    d->isal->level = (uint32_t)level;
    d->isal->level_buf = d->isal_level[level];
    d->isal->level_buf_size = sizes[level];
    d->isal->gzip_flag = d->effort.part ? IGZIP_DEFLATE : IGZIP_ZLIB;
    d->isal->flush = NO_FLUSH;
    return PNGSHIM_OK;
}

uint64_t pngshim_deflater_memory(const pngshim_effort *effort) {
    if (effort->method != PNGSHIM_LIBDEFLATE) return 0;
    return effort->total + libdeflate_zlib_compress_bound(NULL, effort->total) + PNG_JOIN_ROOM;
}

static int32_t start_whole(pngshim_deflater *d, int level, uint64_t total) {
    if (total > SIZE_MAX / 4) return PNGSHIM_NO_MEMORY;
    if (d->whole && d->whole_level != level) {
        libdeflate_free_compressor(d->whole);
        d->whole = NULL;
    }
    if (!d->whole) d->whole = libdeflate_alloc_compressor(level);
    if (!d->whole) return PNGSHIM_NO_MEMORY;
    d->whole_level = level;
    d->input_count = 0;
    if (total <= d->input_capacity) return PNGSHIM_OK;
    free(d->input);
    d->input = malloc(total);
    d->input_capacity = d->input ? total : 0;
    return d->input ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

/* Reserves a total of this many bytes of output. */
static int32_t grow(pngshim_deflater *d, size_t capacity) {
    if (capacity <= d->capacity) return PNGSHIM_OK;
    uint8_t *larger = realloc(d->bytes, capacity);
    if (!larger) return PNGSHIM_NO_MEMORY;
    d->bytes = larger;
    d->capacity = capacity;
    return PNGSHIM_OK;
}

/* Keeps bytes, and compresses all of them once the last have arrived. */
static int32_t push_whole(pngshim_deflater *d, const uint8_t *bytes, uint64_t count, uint8_t is_last) {
    if (count > d->input_capacity - d->input_count) return PNGSHIM_FAILED;
    if (count) memcpy(d->input + d->input_count, bytes, count);
    d->input_count += count;
    if (!is_last) return PNGSHIM_OK;
    /* The bound includes the head and checksum of a stream. */
    size_t bound = libdeflate_zlib_compress_bound(d->whole, d->input_count), room = d->count + bound + PNG_JOIN_ROOM;
    int32_t status = grow(d, room);
    if (status != PNGSHIM_OK) return status;
    if (!d->effort.part) {
        d->length = libdeflate_zlib_compress(d->whole, d->input, d->input_count, d->bytes, bound);
    } else {
        uint8_t *to = d->bytes + d->count;
        size_t   count = libdeflate_deflate_compress(d->whole, d->input, d->input_count, to, bound);
        if (count && d->effort.part != PNGSHIM_PART_LAST) count = png_join(to, count, d->input, d->input_count);
        d->length = count ? d->count + count : 0;
    }
    d->count = d->effort.measured ? 0 : d->length;
    return d->length ? PNGSHIM_OK : PNGSHIM_FAILED;
}

/* The head of a zlib stream: a window of 32 KiB, and the approximate effort (RFC 1950, 2.2). */
static int32_t put_head(pngshim_deflater *d) {
    unsigned effort = d->effort.method == PNGSHIM_ISAL ? 1 : d->effort.level;
    unsigned level = effort < 2 ? 0 : effort < 6 ? 1 : effort < 8 ? 2 : 3, head = 0x7800 | level << 6;
    int32_t  status = grow(d, HEAD);
    if (status != PNGSHIM_OK) return status;
    head += 31 - head % 31;
    d->bytes[0] = (uint8_t)(head >> 8);
    d->bytes[1] = (uint8_t)head;
    d->count = d->length = HEAD;
    return PNGSHIM_OK;
}

uint32_t pngshim_deflater_checksum(const pngshim_deflater *d) { return d->checksum; }

uint32_t pngshim_checksum_join(uint32_t first, uint32_t second, uint64_t count) {
    return (uint32_t)adler32_combine(first, second, (z_off_t)count);
}

int32_t pngshim_deflater_seal(pngshim_deflater *d, uint32_t checksum) {
    int32_t status = grow(d, d->count + CHECKSUM);
    if (status != PNGSHIM_OK) return status;
    for (int i = 0; i < CHECKSUM; i++) d->bytes[d->count++] = (uint8_t)(checksum >> (24 - 8 * i));
    d->length += CHECKSUM;
    return PNGSHIM_OK;
}

int32_t pngshim_deflater_start(pngshim_deflater *d, const pngshim_effort *effort) {
    d->effort = *effort;
    d->count = 0;
    d->length = 0;
    d->checksum = 1;
    if (effort->part == PNGSHIM_PART_FIRST) {
        int32_t status = put_head(d);
        if (status != PNGSHIM_OK) return status;
    }
    if (effort->method == PNGSHIM_LIBDEFLATE) {
        int wanted = effort->level < 1 ? 1 : effort->level > 12 ? 12 : effort->level;
        return start_whole(d, wanted, effort->total);
    }
    if (effort->method == PNGSHIM_ISAL) return start_isal(d, effort->level > 3 ? 3 : effort->level);
    int level = effort->level > 9 ? 9 : effort->level;
    int strategy = effort->filtered ? Z_FILTERED : Z_DEFAULT_STRATEGY;
    uint8_t is_raw = effort->part != PNGSHIM_PART_WHOLE;
    if (d->has_zlib && d->zlib_is_raw != is_raw) {
        deflateEnd(&d->zlib);
        memset(&d->zlib, 0, sizeof d->zlib);
        d->has_zlib = 0;
    }
    if (!d->has_zlib) {
        if (deflateInit2(&d->zlib, level, Z_DEFLATED, is_raw ? -15 : 15, 9, strategy) != Z_OK) return PNGSHIM_NO_MEMORY;
        d->has_zlib = 1;
        d->zlib_is_raw = is_raw;
        return PNGSHIM_OK;
    }
    /* Right after a reset, changing parameters flushes no data. */
    if (deflateReset(&d->zlib) != Z_OK || deflateParams(&d->zlib, level, strategy) != Z_OK) return PNGSHIM_FAILED;
    return PNGSHIM_OK;
}

/* Reserves a piece of output. */
static int32_t make_room(pngshim_deflater *d) {
    if (d->effort.measured) d->count = 0;
    if (d->capacity - d->count >= PIECE) return PNGSHIM_OK;
    if (d->capacity > SIZE_MAX / 4) return PNGSHIM_NO_MEMORY;
    return grow(d, d->capacity * 2 + 2 * PIECE);
}

/* Compresses one piece that fits an unsigned int. */
static int32_t push_piece(pngshim_deflater *d, const uint8_t *bytes, uint32_t count, uint8_t is_last) {
    /* A part is followed by others, unless it is the last one. */
    uint8_t ends_stream = is_last && (d->effort.part & (PNGSHIM_PART_FIRST | PNGSHIM_PART_MIDDLE)) == 0;
    if (d->effort.method == PNGSHIM_ISAL) {
        d->isal->next_in = (uint8_t *)bytes;
        d->isal->avail_in = count;
        d->isal->end_of_stream = ends_stream;
        d->isal->flush = is_last && !ends_stream ? SYNC_FLUSH : NO_FLUSH;
    } else {
        d->zlib.next_in = (Bytef *)bytes;
        d->zlib.avail_in = count;
    }
    for (;;) {
        int32_t status = make_room(d);
        if (status != PNGSHIM_OK) return status;
        uint32_t left;
        uint8_t  is_done;
        if (d->effort.method == PNGSHIM_ISAL) {
            d->isal->next_out = d->bytes + d->count;
            d->isal->avail_out = (uint32_t)PIECE;
            if (isal_deflate(d->isal) != COMP_OK) return PNGSHIM_FAILED;
            left = d->isal->avail_out;
            is_done = ends_stream ? d->isal->internal_state.state == ZSTATE_END : d->isal->avail_in == 0 && left > 0;
        } else {
            d->zlib.next_out = d->bytes + d->count;
            d->zlib.avail_out = (uInt)PIECE;
            int result = deflate(&d->zlib, ends_stream ? Z_FINISH : is_last ? Z_SYNC_FLUSH : Z_NO_FLUSH);
            if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return PNGSHIM_FAILED;
            left = d->zlib.avail_out;
            is_done = ends_stream ? result == Z_STREAM_END : d->zlib.avail_in == 0 && left > 0;
        }
        d->count += PIECE - left;
        d->length += PIECE - left;
        if (is_done) return PNGSHIM_OK;
    }
}

int32_t pngshim_deflater_push(pngshim_deflater *d, const uint8_t *bytes, uint64_t count, uint8_t is_last) {
    if (d->effort.part) d->checksum = libdeflate_adler32(d->checksum, bytes, count);
    if (d->effort.method == PNGSHIM_LIBDEFLATE) return push_whole(d, bytes, count, is_last);
    do {
        uint32_t piece = count > INT_MAX ? INT_MAX : (uint32_t)count;
        int32_t status = push_piece(d, bytes, piece, is_last && piece == count);
        if (status != PNGSHIM_OK) return status;
        bytes += piece;
        count -= piece;
    } while (count);
    return PNGSHIM_OK;
}

uint64_t pngshim_deflater_length(const pngshim_deflater *d) { return d->length; }

uint64_t pngshim_deflater_waiting(const pngshim_deflater *d) { return d->count; }

void pngshim_deflater_take(pngshim_deflater *d, const uint8_t **bytes, uint64_t *count) {
    *bytes = d->bytes;
    *count = d->count;
    d->count = 0;
}

/* ---- indices ---- */

struct pngshim_indices {
    z_stream       zlib;
    const uint8_t *next;
    uint64_t       left;
};

int32_t pngshim_indices_open(const uint8_t *stream, uint64_t count, pngshim_indices **reader) {
    pngshim_indices *r = calloc(1, sizeof *r);
    if (!r) return PNGSHIM_NO_MEMORY;
    r->next = stream;
    r->left = count;
    if (inflateInit(&r->zlib) != Z_OK) {
        free(r);
        return PNGSHIM_NO_MEMORY;
    }
    *reader = r;
    return PNGSHIM_OK;
}

void pngshim_indices_close(pngshim_indices *r) {
    if (!r) return;
    inflateEnd(&r->zlib);
    free(r);
}

static int32_t inflate_exactly(pngshim_indices *r, uint8_t *bytes, uint32_t count) {
    r->zlib.next_out = bytes;
    r->zlib.avail_out = count;
    while (r->zlib.avail_out) {
        uint32_t piece = r->left > INT_MAX ? INT_MAX : (uint32_t)r->left;
        r->zlib.next_in = (Bytef *)r->next;
        r->zlib.avail_in = piece;
        int result = inflate(&r->zlib, Z_NO_FLUSH);
        uint32_t used = piece - r->zlib.avail_in;
        r->next += used;
        r->left -= used;
        if (result == Z_STREAM_END ? r->zlib.avail_out > 0 : result != Z_OK) return PNGSHIM_FAILED;
    }
    return PNGSHIM_OK;
}

int32_t pngshim_indices_rows(pngshim_indices *r, const uint8_t *palette, uint8_t *rgba, uint32_t width,
                             uint32_t rows) {
    for (uint32_t y = 0; y < rows; y++, rgba += (uint64_t)width * 4) {
        uint8_t  filter;
        uint8_t *indices = rgba + (uint64_t)width * 3; /* pixels overwrite an index only after it was read */
        int32_t  status = inflate_exactly(r, &filter, 1);
        if (status == PNGSHIM_OK) status = inflate_exactly(r, indices, width);
        if (status != PNGSHIM_OK || filter != 0) return PNGSHIM_FAILED;
        for (uint32_t x = 0; x < width; x++) {
            uint8_t index = indices[x];
            memcpy(rgba + (uint64_t)x * 4, palette + 4 * index, 4);
        }
    }
    return PNGSHIM_OK;
}
