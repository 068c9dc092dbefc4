/*
 * png_shrink.c - filters rows, finds matches with libdeflate in segments of a few megabytes, and makes better blocks.
 *
 *     rows -> filtered: | 32 KiB, compressed already | up to a segment | -> libdeflate -> matches -> blocks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_shrink.h"

#include "png_choose.h"
#include "png_squeeze.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

/* The maximum distance of a match. */
#define WINDOW  ((size_t)1 << 15)
#define SEGMENT ((size_t)2 << 20)
/* If matches save less than this part of the bits, the next segments are not searched for matches. Evidence:
 * with camera noise, half of the time is spent on a search that saves two hundredths of a percent. */
#define USELESS 0.0006f
#define REST    7

struct pngshim_shrinker {
    pngshim_shrinking shrinking;
    struct libdeflate_compressor *compressors[13]; /* by level, made on demand */
    struct libdeflate_compressor *compressor;
    png_chooser  *chooser;
    size_t        chooser_bytes;
    png_squeezer *squeezer;
    size_t        squeezer_bytes;
    uint8_t      *memory;
    size_t        reserved;
    uint8_t      *prior, *bytes, *stream;
    size_t        capacity, bound;
    size_t        begin, end; /* of the bytes not compressed yet */
    size_t        row_bytes;
    uint32_t      checksum;
    uint64_t      measured;
    uint64_t      segments;
    unsigned      resting;      /* following segments without a search for matches */
    size_t        stream_bytes; /* of the last segment, from libdeflate */
    png_bits      bits;
};

int32_t pngshim_shrinker_open(pngshim_shrinker **shrinker) {
    *shrinker = calloc(1, sizeof **shrinker);
    return *shrinker ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

void pngshim_shrinker_close(pngshim_shrinker *s) {
    if (!s) return;
    for (int level = 0; level < 13; level++)
        if (s->compressors[level]) libdeflate_free_compressor(s->compressors[level]);
    png_chooser_close(s->chooser);
    png_squeezer_close(s->squeezer);
    free(s->memory);
    free(s->bits.bytes);
    free(s);
}

static size_t capacity_of(const pngshim_shrinking *shrinking) {
    size_t row = (size_t)shrinking->row_bytes + 1, all = SEGMENT > row ? SEGMENT : row;
    return WINDOW + (shrinking->total < all ? (size_t)shrinking->total : all);
}

uint64_t pngshim_shrinker_memory(const pngshim_shrinking *shrinking) {
    size_t capacity = capacity_of(shrinking);
    /* The tables of libdeflate's highest level take nine megabytes, those of the other levels one. */
    return 6 * shrinking->row_bytes + capacity + libdeflate_zlib_compress_bound(NULL, capacity) +
           png_squeezer_memory(capacity) + ((uint64_t)12 << 20);
}

static int32_t take_memory(pngshim_shrinker *s) {
    size_t row = (size_t)s->shrinking.row_bytes;
    s->capacity = capacity_of(&s->shrinking);
    s->bound = libdeflate_zlib_compress_bound(s->compressor, s->capacity);
    size_t need = row + s->capacity + s->bound;
    if (need > s->reserved) {
        free(s->memory);
        s->memory = malloc(need);
        s->reserved = s->memory ? need : 0;
        if (!s->memory) return PNGSHIM_NO_MEMORY;
    }
    s->prior = s->memory;
    s->bytes = s->prior + row;
    s->stream = s->bytes + s->capacity;
    if (!s->chooser || row > s->chooser_bytes) {
        png_chooser_close(s->chooser);
        s->chooser = png_chooser_open(row);
        s->chooser_bytes = row;
        if (!s->chooser) return PNGSHIM_NO_MEMORY;
    }
    if (s->shrinking.measured || (s->squeezer && s->capacity <= s->squeezer_bytes)) return PNGSHIM_OK;
    png_squeezer_close(s->squeezer);
    s->squeezer = png_squeezer_open(s->capacity);
    s->squeezer_bytes = s->capacity;
    return s->squeezer ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

static int put_bytes(png_bits *b, const uint8_t *bytes, size_t count) {
    if (b->capacity - b->count < count) {
        size_t   capacity = 2 * b->capacity + count;
        uint8_t *larger = realloc(b->bytes, capacity);
        if (!larger) return 0;
        b->bytes = larger;
        b->capacity = capacity;
    }
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return 1;
}

int32_t pngshim_shrinker_start(pngshim_shrinker *s, const pngshim_shrinking *shrinking) {
    /* The highest compression, and a window of 32 KiB (RFC 1950, 2.2). */
    static const uint8_t header[2] = {0x78, 0xDA};
    int level = shrinking->level < 1 ? 1 : shrinking->level > 12 ? 12 : shrinking->level;
    if (shrinking->total > SIZE_MAX / 4 || shrinking->row_bytes > UINT32_MAX / 4) return PNGSHIM_NO_MEMORY;
    s->shrinking = *shrinking;
    if (!s->compressors[level]) s->compressors[level] = libdeflate_alloc_compressor(level);
    s->compressor = s->compressors[level];
    if (!s->compressor) return PNGSHIM_NO_MEMORY;
    int32_t status = take_memory(s);
    if (status != PNGSHIM_OK) return status;
    s->begin = s->end = 0;
    s->checksum = 1;
    s->measured = s->segments = s->resting = 0;
    s->bits = (png_bits){.bytes = s->bits.bytes, .capacity = s->bits.capacity};
    png_chooser_reset(s->chooser);
    if (!put_bytes(&s->bits, header, sizeof header)) return PNGSHIM_NO_MEMORY;
    return pngshim_shrinker_pass(s, shrinking->row_bytes);
}

int32_t pngshim_shrinker_pass(pngshim_shrinker *s, uint64_t row_bytes) {
    if (row_bytes > s->shrinking.row_bytes) return PNGSHIM_FAILED;
    s->row_bytes = (size_t)row_bytes;
    memset(s->prior, 0, s->row_bytes);
    return PNGSHIM_OK;
}

/* Compresses the pending bytes with matches, or without if matches are currently useless. */
static int32_t squeeze(pngshim_shrinker *s, int is_last) {
    const uint8_t *stream = NULL;
    s->checksum = libdeflate_adler32(s->checksum, s->bytes + s->begin, s->end - s->begin);
    s->stream_bytes = 0;
    if (!s->resting) {
        s->stream_bytes = libdeflate_zlib_compress(s->compressor, s->bytes, s->end, s->stream, s->bound);
        if (!s->stream_bytes) return PNGSHIM_FAILED;
        stream = s->stream;
    }
    if (!png_squeeze(s->squeezer, s->bytes, s->begin, s->end, stream, s->stream_bytes, &s->bits, is_last))
        return PNGSHIM_NO_MEMORY;
    if (s->resting)
        s->resting--;
    else if (png_squeezer_gain(s->squeezer) < USELESS)
        s->resting = REST;
    s->segments++;
    return PNGSHIM_OK;
}

/* Compresses the pending bytes, and keeps the end as the window for later matches. */
static int32_t flush(pngshim_shrinker *s, int is_last) {
    size_t kept = 0;
    if (s->shrinking.measured) {
        size_t count = libdeflate_zlib_compress(s->compressor, s->bytes, s->end, s->stream, s->bound);
        if (!count) return PNGSHIM_FAILED;
        s->measured += count;
    } else {
        int32_t status = squeeze(s, is_last);
        if (status != PNGSHIM_OK) return status;
        kept = s->end < WINDOW ? s->end : WINDOW;
    }
    memmove(s->bytes, s->bytes + s->end - kept, kept);
    s->begin = s->end = kept;
    return PNGSHIM_OK;
}

int32_t pngshim_shrinker_push(pngshim_shrinker *s, const uint8_t *rows, uint32_t count) {
    for (uint32_t y = 0; y < count; y++, rows += s->row_bytes) {
        if (s->capacity - s->end < s->row_bytes + 1) {
            if (s->begin == s->end) return PNGSHIM_FAILED;
            int32_t status = flush(s, 0);
            if (status != PNGSHIM_OK) return status;
        }
        png_choose_filter(s->chooser, s->shrinking.strategy, s->bytes + s->end, rows, s->prior, s->row_bytes,
                          s->shrinking.step);
        s->end += s->row_bytes + 1;
        memcpy(s->prior, rows, s->row_bytes);
    }
    return PNGSHIM_OK;
}

int32_t pngshim_shrinker_end(pngshim_shrinker *s) {
    if (s->begin == s->end) return PNGSHIM_FAILED;
    int32_t status = flush(s, 1);
    if (status != PNGSHIM_OK || s->shrinking.measured) return status;
    uint8_t checksum[4];
    for (int i = 0; i < 4; i++) checksum[i] = (uint8_t)(s->checksum >> (24 - 8 * i));
    png_end_bits(&s->bits);
    if (s->bits.failed || !put_bytes(&s->bits, checksum, sizeof checksum)) return PNGSHIM_NO_MEMORY;
    /* Newly divided blocks are nearly always shorter. */
    if (s->segments > 1 || s->stream_bytes >= s->bits.count) return PNGSHIM_OK;
    s->bits.count = 0;
    return put_bytes(&s->bits, s->stream, s->stream_bytes) ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

uint64_t pngshim_shrinker_length(const pngshim_shrinker *s) {
    return s->shrinking.measured ? s->measured : s->bits.count;
}

void pngshim_shrinker_take(pngshim_shrinker *s, const uint8_t **bytes, uint64_t *count) {
    *bytes = s->bits.bytes;
    *count = s->bits.count;
}
