/*
 * png_pack.c - from pixels to samples of the file, from there through the best row filter into a zlib stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_pack.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Rows are collected up to this before they are compressed. */
#define BATCH ((size_t)1 << 16)

struct pngshim_palette {
    uint32_t colors[256]; /* red in the lowest byte, alpha in the highest */
    uint16_t slots[1024]; /* the index plus 1; 0 where the slot is free */
    uint32_t count;
    uint8_t  has_spare_hole; /* entry 0 is kept, and nothing uses it yet */
};

static uint32_t rgba_of(uint8_t r, uint8_t g, uint8_t b, uint8_t a) {
    return (uint32_t)r | (uint32_t)g << 8 | (uint32_t)b << 16 | (uint32_t)a << 24;
}

static uint32_t pixel_of(const uint8_t *p, uint8_t channels, uint8_t opaque) {
    switch (channels) {
    case 1: return rgba_of(p[0], p[0], p[0], 255);
    case 2: return rgba_of(p[0], p[0], p[0], opaque ? 255 : p[1]);
    case 3: return rgba_of(p[0], p[1], p[2], 255);
    default: return rgba_of(p[0], p[1], p[2], opaque ? 255 : p[3]);
    }
}

/* The slot of a colour: where it is, or where it would go. */
static uint32_t slot_of(const pngshim_palette *p, uint32_t color) {
    uint32_t slot = color * 0x9E3779B9u >> 22; /* Fibonacci hashing */
    while (p->slots[slot] && p->colors[p->slots[slot] - 1] != color) slot = (slot + 1) & 1023;
    return slot;
}

static int32_t insert(pngshim_palette *p, uint32_t color) {
    uint32_t slot = slot_of(p, color);
    if (p->slots[slot]) {
        if (p->slots[slot] == 1 && color == 0) p->has_spare_hole = 0;
        return PNGSHIM_OK;
    }
    uint32_t index = p->count;
    if (index == 256) {
        if (!p->has_spare_hole) return PNGSHIM_REFUSED;
        /* The hole goes; it may not leave a gap in a chain of slots, so they are made anew. */
        p->has_spare_hole = 0;
        p->colors[0] = color;
        memset(p->slots, 0, sizeof p->slots);
        for (uint32_t i = 0; i < 256; i++) p->slots[slot_of(p, p->colors[i])] = (uint16_t)(i + 1);
        return PNGSHIM_OK;
    }
    p->colors[index] = color;
    p->slots[slot] = (uint16_t)(index + 1);
    p->count++;
    return PNGSHIM_OK;
}

int32_t pngshim_palette_open(uint8_t has_hole, pngshim_palette **palette) {
    pngshim_palette *p = calloc(1, sizeof *p);
    if (!p) return PNGSHIM_NO_MEMORY;
    if (has_hole) {
        insert(p, 0);
        p->has_spare_hole = 1;
    }
    *palette = p;
    return PNGSHIM_OK;
}

void pngshim_palette_close(pngshim_palette *p) { free(p); }

int32_t pngshim_palette_add(pngshim_palette *p, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                            uint8_t channels, uint8_t opaque) {
    for (uint32_t y = 0; y < rows; y++, pixels += stride) {
        uint32_t last = 0;
        for (uint32_t x = 0; x < width; x++) {
            uint32_t color = pixel_of(pixels + (uint64_t)x * channels, channels, opaque);
            if (x > 0 && color == last) continue;
            last = color;
            if (insert(p, color) != PNGSHIM_OK) return PNGSHIM_REFUSED;
        }
    }
    return PNGSHIM_OK;
}

int32_t pngshim_palette_hole(pngshim_palette *p, uint8_t keep) {
    if (!p->slots[slot_of(p, 0)]) return PNGSHIM_REFUSED;
    if (keep) p->has_spare_hole = 0;
    return PNGSHIM_OK;
}

uint32_t pngshim_palette_entries(const pngshim_palette *p, uint8_t rgba[1024]) {
    for (uint32_t i = 0; i < p->count; i++)
        for (int place = 0; place < 4; place++) rgba[4 * i + place] = (uint8_t)(p->colors[i] >> (8 * place));
    return p->count;
}

/* ---- samples ---- */

struct pngshim_rows {
    pngshim_row_layout     layout;
    const pngshim_palette *palette;
    pngshim_deflater      *deflater;
    size_t                 row_bytes; /* of the file */
    uint32_t               step;      /* bytes from a sample to the one that filters compare it with */
    uint8_t               *memory;
    size_t                 capacity;
    uint8_t               *row, *prior, *best, *trial, *batch;
    size_t                 batch_count, batch_capacity;
};

static void pack_indices(pngshim_rows *r, const uint8_t *pixels, const uint8_t *base) {
    const pngshim_row_layout *l = &r->layout;
    uint32_t hole = base ? r->palette->slots[slot_of(r->palette, 0)] - 1u : 0, last = 0, index = 0, bits = 0, fill = 0;
    uint8_t *out = r->row, has_last = 0;
    for (uint32_t x = 0; x < l->width; x++) {
        const uint8_t *pixel = pixels + (uint64_t)x * l->channels;
        uint32_t       chosen;
        if (base && memcmp(pixel, base + (uint64_t)x * l->channels, l->channels) == 0) {
            chosen = hole;
        } else {
            uint32_t color = pixel_of(pixel, l->channels, l->opaque);
            if (!has_last || color != last) index = r->palette->slots[slot_of(r->palette, color)] - 1u;
            has_last = 1;
            last = color;
            chosen = index;
        }
        if (l->depth == 8) {
            *out++ = (uint8_t)chosen;
            continue;
        }
        bits = bits << l->depth | chosen;
        fill += l->depth;
        if (fill == 8) {
            *out++ = (uint8_t)bits;
            bits = fill = 0;
        }
    }
    if (fill) *out = (uint8_t)(bits << (8 - fill));
}

/* Copies pixels of `in` bytes as pixels of `out` bytes: the rest is cut off or filled with `0xFF`. */
static void copy_pixels(uint8_t *to, const uint8_t *from, uint32_t width, uint32_t in, uint32_t out) {
    if (in == out) {
        memcpy(to, from, (size_t)width * in);
    } else if (in == 4 && out == 3) {
        for (size_t x = 0; x < width; x++) {
            to[3 * x] = from[4 * x];
            to[3 * x + 1] = from[4 * x + 1];
            to[3 * x + 2] = from[4 * x + 2];
        }
    } else {
        uint32_t both = in < out ? in : out;
        for (uint32_t x = 0; x < width; x++, to += out, from += in) {
            memcpy(to, from, both);
            memset(to + both, 0xFF, out - both);
        }
    }
}

/* Makes pixels transparent that the base has already. */
static void punch_holes(uint8_t *to, const uint8_t *pixels, const uint8_t *base, uint32_t width, uint32_t in,
                        uint32_t out) {
    if (in == 4 && out == 4) {
        for (size_t x = 0; x < width; x++) {
            uint32_t a, b, c;
            memcpy(&a, pixels + 4 * x, 4);
            memcpy(&b, base + 4 * x, 4);
            c = a == b ? 0 : a;
            memcpy(to + 4 * x, &c, 4);
        }
        return;
    }
    for (uint32_t x = 0; x < width; x++, to += out, pixels += in, base += in) {
        uint32_t i = 0;
        while (i < in && pixels[i] == base[i]) i++;
        if (i == in) memset(to, 0, out);
    }
}

static void to_big_endian(uint8_t *bytes, size_t count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i + 1 < count; i += 2) {
        uint8_t low = bytes[i];
        bytes[i] = bytes[i + 1];
        bytes[i + 1] = low;
    }
#else
    (void)bytes;
    (void)count;
#endif
}

/* Whether the last sample of every pixel is full. */
static int is_opaque(const uint8_t *pixels, uint32_t width, uint32_t pixel, uint32_t sample) {
    uint8_t all = 0xFF;
    for (uint32_t x = 0; x < width; x++)
        for (uint32_t i = 1; i <= sample; i++) all &= pixels[(uint64_t)(x + 1) * pixel - i];
    return all == 0xFF;
}

static int32_t pack(pngshim_rows *r, const uint8_t *pixels, const uint8_t *base) {
    const pngshim_row_layout *l = &r->layout;
    if (l->depth) {
        pack_indices(r, pixels, base);
        return PNGSHIM_OK;
    }
    uint32_t in = (uint32_t)l->channels * l->sample_bytes, out = (uint32_t)l->file_channels * l->sample_bytes;
    if (out < in && !l->opaque && !is_opaque(pixels, l->width, in, l->sample_bytes)) return PNGSHIM_REFUSED;
    copy_pixels(r->row, pixels, l->width, in, out);
    if (base) punch_holes(r->row, pixels, base, l->width, in, out);
    if (l->sample_bytes == 2) to_big_endian(r->row, r->row_bytes);
    return PNGSHIM_OK;
}

/* ---- filters (PNG 3rd edition, clause 9) ---- */

/* The sum of absolute differences, each byte as a signed one. */
static uint64_t cost_of(const uint8_t *bytes, size_t count) {
    uint64_t total = 0;
    size_t   i = 0;
#ifdef __SSE2__
    __m128i zero = _mm_setzero_si128(), sums = zero;
    for (; i + 16 <= count; i += 16) {
        __m128i value = _mm_loadu_si128((const __m128i *)(bytes + i));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(_mm_min_epu8(value, _mm_sub_epi8(zero, value)), zero));
    }
    total = (uint64_t)_mm_cvtsi128_si64(sums) + (uint64_t)_mm_cvtsi128_si64(_mm_srli_si128(sums, 8));
#endif
    for (; i < count; i++) total += bytes[i] < 128 ? bytes[i] : 256u - bytes[i];
    return total;
}

/* What a is left of, b above and c left above. */
static uint8_t paeth(int a, int b, int c) {
    int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

#ifdef __SSE2__
static __m128i absolute(__m128i value) { return _mm_max_epi16(value, _mm_sub_epi16(_mm_setzero_si128(), value)); }

static __m128i choose(__m128i mask, __m128i yes, __m128i no) {
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
}

/* The same for eight samples of 16 bits. */
static __m128i paeth8(__m128i a, __m128i b, __m128i c) {
    __m128i from_b = _mm_sub_epi16(b, c), from_a = _mm_sub_epi16(a, c);
    __m128i pa = absolute(from_b), pb = absolute(from_a), pc = absolute(_mm_add_epi16(from_a, from_b));
    __m128i not_a = _mm_or_si128(_mm_cmpgt_epi16(pa, pb), _mm_cmpgt_epi16(pa, pc));
    return choose(not_a, choose(_mm_cmpgt_epi16(pb, pc), c, b), a);
}
#endif

static void apply_paeth(uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    size_t i = step;
#ifdef __SSE2__
    __m128i zero = _mm_setzero_si128();
    for (; i + 16 <= count; i += 16) {
        __m128i a = _mm_loadu_si128((const __m128i *)(row + i - step));
        __m128i b = _mm_loadu_si128((const __m128i *)(prior + i));
        __m128i c = _mm_loadu_si128((const __m128i *)(prior + i - step));
        __m128i low = paeth8(_mm_unpacklo_epi8(a, zero), _mm_unpacklo_epi8(b, zero), _mm_unpacklo_epi8(c, zero));
        __m128i high = paeth8(_mm_unpackhi_epi8(a, zero), _mm_unpackhi_epi8(b, zero), _mm_unpackhi_epi8(c, zero));
        __m128i here = _mm_loadu_si128((const __m128i *)(row + i));
        _mm_storeu_si128((__m128i *)(to + i), _mm_sub_epi8(here, _mm_packus_epi16(low, high)));
    }
#endif
    for (; i < count; i++) to[i] = (uint8_t)(row[i] - paeth(row[i - step], prior[i], prior[i - step]));
}

static void apply(uint8_t filter, uint8_t *restrict to, const uint8_t *restrict row, const uint8_t *restrict prior,
                  size_t count, size_t step) {
    size_t first = count < step ? count : step;
    switch (filter) {
    case 0: memcpy(to, row, count); break;
    case 1:
        memcpy(to, row, first);
        for (size_t i = step; i < count; i++) to[i] = (uint8_t)(row[i] - row[i - step]);
        break;
    case 2:
        for (size_t i = 0; i < count; i++) to[i] = (uint8_t)(row[i] - prior[i]);
        break;
    case 3:
        for (size_t i = 0; i < first; i++) to[i] = (uint8_t)(row[i] - prior[i] / 2);
        for (size_t i = step; i < count; i++) to[i] = (uint8_t)(row[i] - (row[i - step] + prior[i]) / 2);
        break;
    default:
        for (size_t i = 0; i < first; i++) to[i] = (uint8_t)(row[i] - prior[i]);
        apply_paeth(to, row, prior, count, step);
    }
}

/* Chooses a filter for the packed row and leaves it in `best`, behind the filter's number. */
static void filter(pngshim_rows *r) {
    uint64_t lowest = UINT64_MAX;
    uint8_t  filters = r->layout.filters;
    for (uint8_t number = 0; number < 5; number++) {
        if (!(filters >> number & 1)) continue;
        apply(number, r->trial + 1, r->row, r->prior, r->row_bytes, r->step);
        r->trial[0] = number;
        uint64_t cost = filters == 1u << number ? 0 : cost_of(r->trial + 1, r->row_bytes);
        if (cost >= lowest) continue;
        lowest = cost;
        uint8_t *swap = r->best;
        r->best = r->trial;
        r->trial = swap;
    }
}

int32_t pngshim_rows_open(pngshim_rows **rows) {
    *rows = calloc(1, sizeof **rows);
    return *rows ? PNGSHIM_OK : PNGSHIM_NO_MEMORY;
}

void pngshim_rows_close(pngshim_rows *r) {
    if (!r) return;
    free(r->memory);
    free(r);
}

int32_t pngshim_rows_start(pngshim_rows *r, const pngshim_row_layout *layout, const pngshim_palette *palette,
                           pngshim_deflater *deflater, const pngshim_effort *effort) {
    r->layout = *layout;
    r->palette = palette;
    r->deflater = deflater;
    r->step = layout->depth ? 1 : (uint32_t)layout->file_channels * layout->sample_bytes;
    r->row_bytes = layout->depth ? ((size_t)layout->width * layout->depth + 7) / 8 : (size_t)layout->width * r->step;
    r->batch_count = 0;
    r->batch_capacity = r->row_bytes + 1 > BATCH ? r->row_bytes + 1 : BATCH;
    size_t need = 4 * (r->row_bytes + 1) + r->batch_capacity;
    if (need > r->capacity) {
        free(r->memory);
        r->memory = malloc(need);
        r->capacity = r->memory ? need : 0;
        if (!r->memory) return PNGSHIM_NO_MEMORY;
    }
    r->row = r->memory;
    r->prior = r->row + r->row_bytes;
    r->best = r->prior + r->row_bytes;
    r->trial = r->best + r->row_bytes + 1;
    r->batch = r->trial + r->row_bytes + 1;
    memset(r->prior, 0, r->row_bytes);
    return pngshim_deflater_start(deflater, effort);
}

int32_t pngshim_rows_push(pngshim_rows *r, const uint8_t *pixels, uint64_t stride, const uint8_t *base,
                          uint64_t base_stride, uint32_t count) {
    for (uint32_t y = 0; y < count; y++) {
        int32_t status = pack(r, pixels + y * stride, base ? base + y * base_stride : NULL);
        if (status != PNGSHIM_OK) return status;
        filter(r);
        if (r->batch_capacity - r->batch_count < r->row_bytes + 1) {
            status = pngshim_deflater_push(r->deflater, r->batch, r->batch_count, 0);
            if (status != PNGSHIM_OK) return status;
            r->batch_count = 0;
        }
        memcpy(r->batch + r->batch_count, r->best, r->row_bytes + 1);
        r->batch_count += r->row_bytes + 1;
        uint8_t *swap = r->row;
        r->row = r->prior;
        r->prior = swap;
    }
    return PNGSHIM_OK;
}

int32_t pngshim_rows_end(pngshim_rows *r) { return pngshim_deflater_push(r->deflater, r->batch, r->batch_count, 1); }
