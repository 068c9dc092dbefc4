/*
 * png_pack.c - converts pixels to samples of the file, and applies the best row filter for the zlib stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_pack.h"

#include "png_filter.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of rows that are collected before they are compressed. */
#define BATCH ((size_t)1 << 16)

struct pngshim_palette {
    uint32_t colors[256]; /* red in the lowest byte, alpha in the highest */
    uint16_t slots[1024]; /* the index plus 1; 0 if the slot is free */
    uint32_t count;
    uint8_t  has_spare_hole; /* entry 0 is reserved but unused */
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

/* Returns the slot of a color: its current slot, or a free one. */
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
        /* Removes the hole. The slots are rebuilt, because a gap would break a chain. */
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

void pngshim_palette_find(const pngshim_palette *p, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                          uint8_t channels, uint8_t *indices) {
    uint32_t last = 0;
    uint8_t  index = 0, has_last = 0;
    for (uint32_t y = 0; y < rows; y++, pixels += stride)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t color = pixel_of(pixels + (uint64_t)x * channels, channels, 0);
            if (!has_last || color != last) index = (uint8_t)(p->slots[slot_of(p, color)] - 1u);
            has_last = 1;
            last = color;
            *indices++ = index;
        }
}

int32_t pngshim_palette_hole(pngshim_palette *p, uint8_t keep) {
    if (!p->slots[slot_of(p, 0)]) return PNGSHIM_REFUSED;
    if (keep) p->has_spare_hole = 0;
    return PNGSHIM_OK;
}

static int by_opacity(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int a_is_opaque = a >> 24 == 255, b_is_opaque = b >> 24 == 255;
    if (a_is_opaque != b_is_opaque) return a_is_opaque - b_is_opaque;
    return a < b ? -1 : a > b;
}

void pngshim_palette_sort(pngshim_palette *p) {
    qsort(p->colors, p->count, sizeof p->colors[0], by_opacity);
    memset(p->slots, 0, sizeof p->slots);
    for (uint32_t i = 0; i < p->count; i++) p->slots[slot_of(p, p->colors[i])] = (uint16_t)(i + 1);
}

uint32_t pngshim_palette_entries(const pngshim_palette *p, uint8_t rgba[1024]) {
    for (uint32_t i = 0; i < p->count; i++)
        for (int place = 0; place < 4; place++) rgba[4 * i + place] = (uint8_t)(p->colors[i] >> (8 * place));
    return p->count;
}

/* ---- samples ---- */

void pngshim_survey_add(pngshim_survey *survey, const uint8_t *pixels, uint64_t stride, uint32_t width, uint32_t rows,
                        uint8_t channels, uint8_t sample_bytes) {
    size_t   pixel = (size_t)channels * sample_bytes, count = width * pixel;
    unsigned has_alpha = channels % 2 == 0;
    for (uint32_t y = 0; y < rows && (survey->gray || survey->opaque || survey->doubled); y++, pixels += stride) {
        uint8_t color = 0, depth = 0, alpha = 0xFF;
        if (survey->gray && channels > 2)
            for (const uint8_t *p = pixels; p < pixels + count; p += pixel)
                for (unsigned i = 0; i < sample_bytes; i++)
                    color |= (uint8_t)((p[i] ^ p[i + sample_bytes]) | (p[i] ^ p[i + 2 * sample_bytes]));
        if (survey->opaque && has_alpha)
            for (const uint8_t *p = pixels + pixel; p <= pixels + count; p += pixel)
                for (unsigned i = 1; i <= sample_bytes; i++) alpha &= p[-(ptrdiff_t)i];
        if (survey->doubled)
            for (size_t i = 0; i < count; i += 2) depth |= sample_bytes == 2 ? pixels[i] ^ pixels[i + 1] : 1;
        if (color) survey->gray = 0;
        if (alpha != 0xFF) survey->opaque = 0;
        if (depth) survey->doubled = 0;
    }
}

struct pngshim_rows {
    pngshim_row_layout     layout;
    const pngshim_palette *palette;
    pngshim_deflater      *deflater;
    size_t                 row_bytes; /* of the file */
    uint32_t               step;      /* bytes from a sample to the one that filters compare it with */
    uint8_t               *memory;
    size_t                 capacity;
    uint8_t               *row, *prior, *picked, *picked_base, *batch;
    uint32_t               first, pick; /* selects the written pixels of a row */
    uint32_t               width;       /* of the input rows */
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

/* Copies pixels of `in` bytes as pixels of `out` bytes: cuts the rest off, or fills it with `0xFF`. */
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

/* Copies native-order samples one by one, to fewer channels or to their upper halves. */
static void copy_samples(uint8_t *to, const uint8_t *from, const pngshim_row_layout *l) {
    unsigned colors = l->channels < 3 ? 1 : 3, file_colors = l->file_channels < 3 ? 1 : 3;
    for (uint32_t x = 0; x < l->width; x++, from += (size_t)l->channels * l->sample_bytes) {
        for (unsigned i = 0; i < l->file_channels; i++) {
            const uint8_t *sample = from + (i < file_colors ? i : colors) * l->sample_bytes;
            if (l->sample_bytes == 1) {
                *to++ = *sample;
            } else {
                uint16_t value;
                memcpy(&value, sample, 2);
                if (l->narrow) {
                    *to++ = (uint8_t)(value >> 8);
                } else {
                    memcpy(to, &value, 2);
                    to += 2;
                }
            }
        }
    }
}

/* Makes pixels transparent that equal the base. */
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

/* Whether the last sample of every pixel is at its maximum. */
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
    int drops_alpha = l->channels % 2 == 0 && l->file_channels % 2 == 1;
    if (drops_alpha && !l->opaque && !is_opaque(pixels, l->width, in, l->sample_bytes)) return PNGSHIM_REFUSED;
    if (l->narrow || (l->channels > 2 && l->file_channels < 3))
        copy_samples(r->row, pixels, l);
    else
        copy_pixels(r->row, pixels, l->width, in, out);
    if (base) punch_holes(r->row, pixels, base, l->width, in, out);
    if (l->sample_bytes == 2 && !l->narrow) to_big_endian(r->row, r->row_bytes);
    return PNGSHIM_OK;
}

/* Collects the pixels of a row that belong to the pass. */
static const uint8_t *pick(const pngshim_rows *r, uint8_t *to, const uint8_t *from) {
    size_t pixel = (size_t)r->layout.channels * r->layout.sample_bytes;
    if (r->pick == 1) return from;
    uint8_t *at = to;
    for (uint64_t x = r->first; x < r->width; x += r->pick, at += pixel) memcpy(at, from + x * pixel, pixel);
    return to;
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

static void set_width(pngshim_rows *r, uint32_t width) {
    const pngshim_row_layout *l = &r->layout;
    r->layout.width = width;
    r->row_bytes = l->depth ? ((size_t)width * l->depth + 7) / 8 : (size_t)width * r->step;
}

int32_t pngshim_rows_start(pngshim_rows *r, const pngshim_row_layout *layout, const pngshim_palette *palette,
                           pngshim_deflater *deflater, const pngshim_effort *effort) {
    r->layout = *layout;
    r->palette = palette;
    r->deflater = deflater;
    unsigned file_bytes = layout->narrow ? 1 : layout->sample_bytes;
    r->step = layout->depth ? 1 : (uint32_t)layout->file_channels * file_bytes;
    size_t given = (size_t)layout->width * layout->channels * layout->sample_bytes;
    r->width = layout->width;
    set_width(r, layout->width);
    r->batch_count = 0;
    r->batch_capacity = r->row_bytes + 1 > BATCH ? r->row_bytes + 1 : BATCH;
    size_t need = 2 * r->row_bytes + 2 * given + r->batch_capacity;
    if (need > r->capacity) {
        free(r->memory);
        r->memory = malloc(need);
        r->capacity = r->memory ? need : 0;
        if (!r->memory) return PNGSHIM_NO_MEMORY;
    }
    r->row = r->memory;
    r->prior = r->row + r->row_bytes;
    r->picked = r->prior + r->row_bytes;
    r->picked_base = r->picked + given;
    r->batch = r->picked_base + given;
    pngshim_rows_pass(r, 0, 1);
    return pngshim_deflater_start(deflater, effort);
}

int32_t pngshim_rows_pass(pngshim_rows *r, uint32_t first, uint32_t step) {
    if (step == 0 || first >= r->width) return PNGSHIM_FAILED;
    r->first = first;
    r->pick = step;
    set_width(r, (r->width - first + step - 1) / step);
    memset(r->prior, 0, r->row_bytes);
    return PNGSHIM_OK;
}

static void next_row(pngshim_rows *r) {
    uint8_t *swap = r->row;
    r->row = r->prior;
    r->prior = swap;
}

int32_t pngshim_rows_above(pngshim_rows *r, const uint8_t *pixels) {
    int32_t status = pack(r, pick(r, r->picked, pixels), NULL);
    if (status == PNGSHIM_OK) next_row(r);
    return status;
}

int32_t pngshim_rows_push(pngshim_rows *r, const uint8_t *pixels, uint64_t stride, const uint8_t *base,
                          uint64_t base_stride, uint32_t count) {
    for (uint32_t y = 0; y < count; y++) {
        const uint8_t *row = pick(r, r->picked, pixels + y * stride);
        int32_t status = pack(r, row, base ? pick(r, r->picked_base, base + y * base_stride) : NULL);
        if (status != PNGSHIM_OK) return status;
        if (r->batch_capacity - r->batch_count < r->row_bytes + 1) {
            status = pngshim_deflater_push(r->deflater, r->batch, r->batch_count, 0);
            if (status != PNGSHIM_OK) return status;
            r->batch_count = 0;
        }
        uint8_t *to = r->batch + r->batch_count;
        to[0] = (uint8_t)png_best_filter(r->layout.filters, r->row, r->prior, r->row_bytes, r->step);
        png_filter(to[0], to + 1, r->row, r->prior, r->row_bytes, r->step);
        r->batch_count += r->row_bytes + 1;
        next_row(r);
    }
    return PNGSHIM_OK;
}

int32_t pngshim_rows_end(pngshim_rows *r) { return pngshim_deflater_push(r->deflater, r->batch, r->batch_count, 1); }
