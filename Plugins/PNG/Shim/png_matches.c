/*
 * png_matches.c - reads matches back out of a zlib stream (RFC 1950, RFC 1951).
 *
 * Only for streams that this process has compressed; damage is still an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_blocks.h"

#include <string.h>

#define MOST_BITS 15

typedef struct reader {
    const uint8_t *next, *end;
    uint64_t       word;
    unsigned       fill;
} reader;

/* By the next 15 bits: the value of a code, and in the lowest four bits its length; 0 where there is none. */
typedef struct table {
    uint16_t entries[1 << MOST_BITS];
} table;

/* The unused bits of the last word are zeros. */
static void refill(reader *r) {
    while (r->fill <= 56 && r->next < r->end) {
        r->word |= (uint64_t)*r->next++ << r->fill;
        r->fill += 8;
    }
}

static unsigned take(reader *r, unsigned count) {
    unsigned value = (unsigned)(r->word & ((1u << count) - 1));
    r->word >>= count;
    r->fill -= count < r->fill ? count : r->fill;
    return value;
}

static unsigned read_bits(reader *r, unsigned count) {
    refill(r);
    return take(r, count);
}

static void fill_table(table *t, const uint8_t *lengths, unsigned count) {
    unsigned counts[MOST_BITS + 1] = {0}, next[MOST_BITS + 1] = {0}, code = 0;
    memset(t, 0, sizeof *t);
    for (unsigned i = 0; i < count; i++) counts[lengths[i]]++;
    counts[0] = 0;
    for (unsigned bits = 1; bits <= MOST_BITS; bits++) {
        code = (code + counts[bits - 1]) << 1;
        next[bits] = code;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned bits = lengths[i], reversed = 0;
        if (!bits) continue;
        code = next[bits]++;
        for (unsigned k = 0; k < bits; k++) reversed |= (code >> k & 1) << (bits - 1 - k);
        for (unsigned k = reversed; k < 1u << MOST_BITS; k += 1u << bits) t->entries[k] = (uint16_t)(i << 4 | bits);
    }
}

/* Returns the value of the next code, or -1. */
static int read_code(reader *r, const table *t) {
    unsigned entry = t->entries[r->word & ((1u << MOST_BITS) - 1)];
    if (!entry) return -1;
    take(r, entry & 15);
    return (int)(entry >> 4);
}

static int read_lengths(reader *r, table *scratch, uint8_t *lengths, unsigned count, unsigned code_count) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t bits[19] = {0};
    for (unsigned i = 0; i < code_count; i++) bits[order[i]] = (uint8_t)read_bits(r, 3);
    fill_table(scratch, bits, 19);
    for (unsigned i = 0; i < count;) {
        refill(r);
        int code = read_code(r, scratch);
        if (code < 0 || (code == 16 && i == 0)) return 0;
        unsigned run = 1;
        uint8_t  value = (uint8_t)code;
        if (code == 16) {
            value = lengths[i - 1];
            run = 3 + take(r, 2);
        } else if (code > 16) {
            value = 0;
            run = code == 17 ? 3 + take(r, 3) : 11 + take(r, 7);
        }
        if (run > count - i) return 0;
        memset(lengths + i, value, run);
        i += run;
    }
    return 1;
}

static int read_tables(reader *r, unsigned type, table *literals, table *distances) {
    uint8_t  lengths[320] = {0};
    unsigned first = 288, second = 30;
    if (type == 1) {
        for (unsigned i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        memset(lengths + first, 5, second);
    } else {
        first = 257 + read_bits(r, 5);
        second = 1 + read_bits(r, 5);
        if (first > 286 || second > 30) return 0;
        if (!read_lengths(r, literals, lengths, first + second, 4 + read_bits(r, 4))) return 0;
    }
    fill_table(distances, lengths + first, second);
    fill_table(literals, lengths, first);
    return 1;
}

/* Skips a stored block, and returns its length. */
static size_t skip_stored(reader *r) {
    take(r, r->fill & 7);
    size_t count = read_bits(r, 16), left = count;
    take(r, 16);
    for (; left && r->fill; left--) take(r, 8);
    if (left > (size_t)(r->end - r->next)) left = (size_t)(r->end - r->next);
    r->next += left;
    return count;
}

int png_read_matches(const uint8_t *stream, size_t count, size_t size, png_matches *matches) {
    table    literals, distances;
    reader   r = {.next = stream + (count < 2 ? count : 2), .end = stream + count};
    size_t   at = 0;
    unsigned is_last;
    matches->count = 0;
    do {
        is_last = read_bits(&r, 1);
        unsigned type = take(&r, 2);
        if (type == 0) {
            at += skip_stored(&r);
            continue;
        }
        if (type == 3 || !read_tables(&r, type, &literals, &distances)) return 0;
        for (;;) {
            refill(&r);
            int code = read_code(&r, &literals);
            if (code < 0 || at > size) return 0;
            if (code < PNG_END) {
                at++;
                continue;
            }
            if (code == PNG_END) break;
            code -= PNG_END + 1;
            if (code > 28) return 0;
            unsigned length = png_length_base[code] + take(&r, png_length_extra[code]);
            int      far = read_code(&r, &distances);
            if (far < 0) return 0;
            unsigned distance = png_distance_base[far] + take(&r, png_distance_extra[far]);
            if (distance > at || length > size - at) return 0;
            png_match match = {(uint32_t)at, (uint16_t)length, (uint16_t)(distance - 1)};
            if (!png_add_match(matches, match)) return 0;
            at += length;
        }
    } while (!is_last && at < size);
    return at == size;
}
