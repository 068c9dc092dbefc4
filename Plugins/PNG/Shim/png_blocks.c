/*
 * png_blocks.c - prefix codes, and blocks in the shortest of the three forms of RFC 1951, 3.2.3.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_blocks.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BITS  15
#define MOST_CODES 288

/* ---- prefix codes ---- */

static void sort(uint64_t *keys, unsigned count) {
    for (unsigned gap = count / 2; gap; gap /= 2)
        for (unsigned i = gap; i < count; i++) {
            uint64_t key = keys[i];
            unsigned k = i;
            for (; k >= gap && keys[k - gap] > key; k -= gap) keys[k] = keys[k - gap];
            keys[k] = key;
        }
}

/* The lengths of a prefix code of at most `limit` bits: Huffman's; if that is longer, leaves move up until
 * the code fits (Kraft). A single code has one bit. */
static void find_lengths(const uint32_t *counts, unsigned number, unsigned limit, uint8_t *lengths) {
    uint64_t keys[MOST_CODES], weights[2 * MOST_CODES];
    uint16_t parents[2 * MOST_CODES];
    uint8_t  depths[2 * MOST_CODES];
    unsigned leaves = 0, per_length[MOST_BITS + 1] = {0};
    memset(lengths, 0, number);
    for (unsigned i = 0; i < number; i++)
        if (counts[i]) keys[leaves++] = (uint64_t)counts[i] << 16 | i;
    if (leaves < 2) {
        if (leaves) lengths[keys[0] & 0xFFFF] = 1;
        return;
    }
    sort(keys, leaves);
    for (unsigned i = 0; i < leaves; i++) weights[i] = keys[i] >> 16;
    unsigned leaf = 0, inner = leaves, nodes = 2 * leaves - 1;
    for (unsigned node = leaves; node < nodes; node++) {
        weights[node] = 0;
        for (int child = 0; child < 2; child++) {
            unsigned chosen = leaf < leaves && (inner == node || weights[leaf] <= weights[inner]) ? leaf++ : inner++;
            weights[node] += weights[chosen];
            parents[chosen] = (uint16_t)node;
        }
    }
    depths[nodes - 1] = 0;
    for (unsigned node = nodes - 1; node-- > 0;) {
        unsigned depth = depths[parents[node]] + 1u;
        depths[node] = (uint8_t)(depth > 200 ? 200 : depth);
        if (node < leaves) per_length[depth > limit ? limit : depth]++;
    }
    uint32_t sum = 0;
    for (unsigned bits = 1; bits <= limit; bits++) sum += per_length[bits] << (limit - bits);
    for (; sum > 1u << limit; sum--) {
        unsigned bits = limit - 1;
        while (!per_length[bits]) bits--;
        per_length[limit]--;
        per_length[bits]--;
        per_length[bits + 1] += 2;
    }
    for (unsigned bits = limit, i = 0; bits; bits--)
        for (unsigned k = 0; k < per_length[bits]; k++) lengths[keys[i++] & 0xFFFF] = (uint8_t)bits;
}

/* Makes the codes of these lengths, the first bit lowest (RFC 1951, 3.2.2). */
static void find_codes(const uint8_t *lengths, unsigned number, uint16_t *codes) {
    unsigned counts[MOST_BITS + 1] = {0}, next[MOST_BITS + 1] = {0}, code = 0;
    for (unsigned i = 0; i < number; i++) counts[lengths[i]]++;
    counts[0] = 0;
    for (unsigned bits = 1; bits <= MOST_BITS; bits++) next[bits] = code = (code + counts[bits - 1]) << 1;
    for (unsigned i = 0; i < number; i++) {
        unsigned bits = lengths[i], reversed = 0;
        if (!bits) continue;
        code = next[bits]++;
        for (unsigned k = 0; k < bits; k++) reversed |= (code >> k & 1) << (bits - 1 - k);
        codes[i] = (uint16_t)reversed;
    }
}

/* ---- bits ---- */

static int make_room(png_bits *b, size_t count) {
    if (b->failed) return 0;
    if (b->capacity - b->count >= count) return 1;
    size_t   capacity = b->capacity * 2 + count;
    uint8_t *larger = realloc(b->bytes, capacity);
    b->failed = !larger;
    if (!larger) return 0;
    b->bytes = larger;
    b->capacity = capacity;
    return 1;
}

/* Writes at most 48 bits; there is room for eight bytes. */
static inline void put(png_bits *b, uint64_t value, unsigned count) {
    b->word |= value << b->fill;
    b->fill += count;
    for (unsigned i = 0; i < 8; i++) b->bytes[b->count + i] = (uint8_t)(b->word >> 8 * i);
    b->count += b->fill / 8;
    b->word >>= b->fill & ~7u;
    b->fill &= 7;
}

void png_end_bits(png_bits *b) {
    if (b->fill && make_room(b, 8)) put(b, 0, 8 - b->fill);
}

/* ---- the header of a block with codes of its own ---- */

static const uint8_t header_order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
static const uint8_t header_extra[19] = {[16] = 2, [17] = 3, [18] = 7};

typedef struct form {
    uint8_t  literals[MOST_CODES], distances[PNG_DISTANCES];
    unsigned literal_count, distance_count;
    uint8_t  runs[MOST_CODES + PNG_DISTANCES], extra[MOST_CODES + PNG_DISTANCES], run_bits[19];
    unsigned run_count, run_bits_count;
} form;

static void add_run(form *f, unsigned code, unsigned extra) {
    f->runs[f->run_count] = (uint8_t)code;
    f->extra[f->run_count++] = (uint8_t)extra;
}

/* Writes lengths as runs (RFC 1951, 3.2.7). */
static void find_runs(form *f) {
    uint8_t  all[MOST_CODES + PNG_DISTANCES];
    unsigned count = f->literal_count + f->distance_count;
    memcpy(all, f->literals, f->literal_count);
    memcpy(all + f->literal_count, f->distances, f->distance_count);
    f->run_count = 0;
    for (unsigned i = 0; i < count;) {
        unsigned end = i + 1;
        while (end < count && all[end] == all[i]) end++;
        unsigned value = all[i], run = end - i;
        i = end;
        if (value) {
            add_run(f, value, 0);
            run--;
        }
        unsigned most = value ? 6 : 138;
        while (run >= 3) {
            /* No rest shorter than three remains. */
            unsigned part = run > most ? (run - most < 3 && run - 3 >= 3 && run - 3 < most ? run - 3 : most) : run;
            if (value)
                add_run(f, 16, part - 3);
            else if (part < 11)
                add_run(f, 17, part - 3);
            else
                add_run(f, 18, part - 11);
            run -= part;
        }
        for (; run; run--) add_run(f, value, 0);
    }
}

/* Chooses the codes of a block; returns the bits of its header. */
static uint64_t plan(form *f, const png_statistics *s) {
    uint32_t counts[19] = {0};
    find_lengths(s->literals, PNG_LITERALS, MOST_BITS, f->literals);
    find_lengths(s->distances, PNG_DISTANCES, MOST_BITS, f->distances);
    f->literal_count = PNG_LITERALS;
    f->distance_count = PNG_DISTANCES;
    while (f->literal_count > 257 && !f->literals[f->literal_count - 1]) f->literal_count--;
    while (f->distance_count > 1 && !f->distances[f->distance_count - 1]) f->distance_count--;
    /* Some readers require a distance code even if none is used. */
    if (f->distance_count == 1 && !f->distances[0]) f->distances[0] = 1;
    find_runs(f);
    for (unsigned i = 0; i < f->run_count; i++) counts[f->runs[i]]++;
    find_lengths(counts, 19, 7, f->run_bits);
    f->run_bits_count = 19;
    while (f->run_bits_count > 4 && !f->run_bits[header_order[f->run_bits_count - 1]]) f->run_bits_count--;
    uint64_t bits = 14 + 3 * (uint64_t)f->run_bits_count;
    for (unsigned i = 0; i < 19; i++) bits += (uint64_t)counts[i] * (f->run_bits[i] + header_extra[i]);
    return bits;
}

static void write_header(png_bits *b, const form *f) {
    uint16_t codes[19] = {0};
    find_codes(f->run_bits, 19, codes);
    put(b, f->literal_count - 257, 5);
    put(b, f->distance_count - 1, 5);
    put(b, f->run_bits_count - 4, 4);
    for (unsigned i = 0; i < f->run_bits_count; i++) put(b, f->run_bits[header_order[i]], 3);
    for (unsigned i = 0; i < f->run_count; i++) {
        put(b, codes[f->runs[i]], f->run_bits[f->runs[i]]);
        put(b, f->extra[i], header_extra[f->runs[i]]);
    }
}

static void set_fixed(form *f) {
    for (unsigned i = 0; i < MOST_CODES; i++) f->literals[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(f->distances, 5, PNG_DISTANCES);
}

/* ---- blocks ---- */

static uint64_t length_of(const form *f, const png_statistics *s) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < PNG_LITERALS; i++)
        bits += (uint64_t)s->literals[i] * (f->literals[i] + (i > PNG_END ? png_length_extra[i - PNG_END - 1] : 0u));
    for (unsigned i = 0; i < PNG_DISTANCES; i++)
        bits += (uint64_t)s->distances[i] * (f->distances[i] + png_distance_extra[i]);
    return bits;
}

uint64_t png_block_bits(const png_statistics *s) {
    form f = {0};
    return plan(&f, s) + length_of(&f, s);
}

static void write_stored(png_bits *b, const uint8_t *bytes, size_t count, int is_last) {
    while (count) {
        size_t part = count > 0xFFFF ? 0xFFFF : count;
        count -= part;
        put(b, is_last && !count, 3);
        if (b->fill) put(b, 0, 8 - b->fill);
        put(b, part | (part ^ 0xFFFF) << 16, 32);
        memcpy(b->bytes + b->count, bytes, part);
        b->count += part;
        bytes += part;
    }
}

static void write_codes(png_bits *b, const png_codes *c, const form *f, const png_block *block, const uint8_t *bytes,
                        const png_match *matches) {
    uint16_t literals[MOST_CODES] = {0}, distances[PNG_DISTANCES] = {0};
    size_t   next = block->first;
    find_codes(f->literals, MOST_CODES, literals);
    find_codes(f->distances, PNG_DISTANCES, distances);
    for (uint32_t at = block->begin; at < block->end;) {
        if (next == block->last || matches[next].at != at) {
            put(b, literals[bytes[at]], f->literals[bytes[at]]);
            at++;
            continue;
        }
        const png_match *m = matches + next++;
        unsigned code = c->length_code[m->length], far = png_distance_code(c, m->distance);
        put(b, literals[PNG_END + 1 + code], f->literals[PNG_END + 1 + code]);
        put(b, m->length - png_length_base[code], png_length_extra[code]);
        put(b, distances[far], f->distances[far]);
        put(b, m->distance + 1u - png_distance_base[far], png_distance_extra[far]);
        at += m->length;
    }
    put(b, literals[PNG_END], f->literals[PNG_END]);
}

void png_write_block(png_bits *b, const png_codes *c, const png_block *block, const uint8_t *bytes,
                     const png_match *matches, int is_last) {
    form     own = {0}, fixed = {0};
    size_t   count = block->end - block->begin;
    uint64_t header = plan(&own, &block->statistics), stored = (count / 0xFFFF + 1) * 40 + 8 * (uint64_t)count;
    set_fixed(&fixed);
    uint64_t dynamic = header + length_of(&own, &block->statistics), plain = length_of(&fixed, &block->statistics);
    uint64_t least = dynamic < plain ? dynamic : plain;
    if (!make_room(b, (size_t)((least < stored ? least : stored) / 8) + (count / 0xFFFF + 1) * 8 + 64)) return;
    if (stored < least) {
        write_stored(b, bytes + block->begin, count, is_last);
        return;
    }
    put(b, (is_last ? 1u : 0u) | (dynamic < plain ? 2u : 1u) << 1, 3);
    if (dynamic < plain) write_header(b, &own);
    write_codes(b, c, dynamic < plain ? &own : &fixed, block, bytes, matches);
}
