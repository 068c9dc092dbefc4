/*
 * png_blocks.h - the parts of a deflate stream: matches, statistics, prefix codes, blocks; internal to the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PNG_BLOCKS_H
#define PNG_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Literals, the end of a block, and lengths (RFC 1951, 3.2.5). */
#define PNG_LITERALS  286
#define PNG_DISTANCES 30
#define PNG_END       256
#define PNG_LONGEST   258
#define PNG_SHORTEST  3

/* A string that appeared `distance` + 1 bytes before. */
typedef struct png_match {
    uint32_t at;
    uint16_t length, distance;
} png_match;

typedef struct png_matches {
    png_match *all;
    size_t     count, capacity;
} png_matches;

/* Returns 0 without memory. */
int png_add_match(png_matches *matches, png_match match);

/* The code of a length or distance, and its extra bits. */
typedef struct png_codes {
    uint8_t  length_code[PNG_LONGEST + 1];
    uint8_t  near_code[256], far_code[256]; /* of distances up to 256, and of 128 at a time */
    float    log2[4096];
} png_codes;

extern const uint16_t png_length_base[29], png_distance_base[PNG_DISTANCES];
extern const uint8_t  png_length_extra[29], png_distance_extra[PNG_DISTANCES];

void png_fill_codes(png_codes *codes);

static inline unsigned png_distance_code(const png_codes *c, unsigned less_one) {
    return less_one < 256 ? c->near_code[less_one] : c->far_code[less_one >> 7];
}

static inline float png_log2(const png_codes *c, uint32_t value) {
    if (value < 4096) return c->log2[value];
    int shift = 20 - __builtin_clz(value);
    return c->log2[value >> shift] + (float)shift;
}

/* The number of uses of each code in a block. */
typedef struct png_statistics {
    uint32_t literals[PNG_LITERALS], distances[PNG_DISTANCES];
} png_statistics;

/* Estimates the bits of a block of these codes, with its header. */
float png_estimate(const png_codes *codes, const png_statistics *s);

/* ---- reading ---- */

/* Collects the matches of a zlib stream of `size` bytes from our own compressor. Returns 0 without memory, or
 * if it is invalid. */
int png_read_matches(const uint8_t *stream, size_t count, size_t size, png_matches *matches);

/* ---- choosing ---- */

typedef struct png_parser {
    uint32_t *costs, *choices; /* by position in the block; room for one more than the longest */
} png_parser;

/* Chooses the cheapest codes for the bytes `begin` ..< `end` by the prices from `s`: literals, and the
 * `known` matches, whole or cut. `from` is the first match of interest and moves on. */
int png_parse(const png_codes *codes, const png_parser *parser, const uint8_t *bytes, uint32_t begin, uint32_t end,
              const png_matches *known, size_t *from, const png_statistics *s, png_matches *chosen);

/* ---- writing ---- */

/* Bits before they are written to memory, the lowest first. */
typedef struct png_bits {
    uint8_t *bytes;
    size_t   count, capacity;
    uint64_t word;
    unsigned fill;
    uint8_t  failed; /* out of memory */
} png_bits;

/* A part of the data that becomes one block. */
typedef struct png_block {
    uint32_t       begin, end;
    size_t         first, last; /* the range of its matches */
    png_statistics statistics;
} png_block;

/* Writes a block in the shortest of the three forms. */
void png_write_block(png_bits *bits, const png_codes *codes, const png_block *block, const uint8_t *bytes,
                     const png_match *matches, int is_last);
/* Returns the bits of a block with its own codes, without its first three. */
uint64_t png_block_bits(const png_statistics *s);
/* Fills the last byte. */
void png_end_bits(png_bits *bits);

#endif
