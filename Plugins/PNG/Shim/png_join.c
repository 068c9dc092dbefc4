/*
 * png_join.c - finds the last block of a deflate stream without decoding the blocks before it.
 *
 * libdeflate writes whole streams and reports no block boundary. png_join searches the last block from the end. This
 * block begins with a header of complete codes, ends with the stream, and its symbols are at least the last 4,096 bytes
 * of the input. The bytes of a stored block come from the image and could imitate such a block. So if the last block may
 * be a stored one, or if none is found, png_join walks through the blocks from the first. An image could imitate a
 * block inside a Huffman-coded one only by solving for its own code; readers would detect that by the checksum.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_join.h"

#include <string.h>

#define TABLE_BITS 10
#define LITERALS   288
#define DISTANCES  32
#define END_SYMBOL 256

/* The minimum bytes in a block that is found by its header: a shorter match could be a coincidence. */
#define LEAST_BYTES 4096
/* The maximum distance from the end for a header: libdeflate's blocks have about 300,000 bytes at most. */
#define FARTHEST ((size_t)400000)

typedef struct {
    const uint8_t *bytes;
    uint64_t       at, end; /* in bits */
} reader;

/* A Huffman code: symbols of short codes by their bits, those of longer ones by counting (RFC 1951, 3.2.2). */
typedef struct {
    uint16_t table[1 << TABLE_BITS]; /* symbol << 4 | length; 0: longer than the table or none */
    uint16_t counts[16], symbols[LITERALS + DISTANCES];
} code;

typedef struct {
    uint8_t type, is_last;
    code    literals, distances;
} block;

/* Returns at least 56 bits; zeros behind the end. */
static inline uint64_t peek(const reader *r) {
    uint64_t bits = 0;
    size_t   first = (size_t)(r->at >> 3), count = (size_t)(r->end >> 3);
    if (first + 8 <= count) {
        memcpy(&bits, r->bytes + first, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        bits = __builtin_bswap64(bits);
#endif
    } else {
        for (size_t i = 0; i < 8 && first + i < count; i++) bits |= (uint64_t)r->bytes[first + i] << (8 * i);
    }
    return bits >> (r->at & 7);
}

static uint32_t take(reader *r, unsigned count) {
    uint32_t value = (uint32_t)(peek(r) & (((uint64_t)1 << count) - 1));
    r->at += count;
    return value;
}

static unsigned reversed(unsigned bits, unsigned count) {
    unsigned result = 0;
    for (; count; count--, bits >>= 1) result = result << 1 | (bits & 1);
    return result;
}

/* Whether the code is complete, has one symbol of one bit, or (if allowed) no symbol. */
static int is_complete(const uint8_t *lengths, unsigned count, int is_distance) {
    uint32_t sum = 0, used = 0;
    for (unsigned i = 0; i < count; i++)
        if (lengths[i]) {
            sum += 1u << (15 - lengths[i]);
            used++;
        }
    return sum == 1u << 15 || (is_distance && (used == 0 || (used == 1 && sum == 1u << 14)));
}

static void build(code *c, const uint8_t *lengths, unsigned count, unsigned table_bits) {
    uint16_t places[16] = {0};
    unsigned next[16] = {0};
    memset(c->counts, 0, sizeof c->counts);
    memset(c->table, 0, sizeof c->table[0] << table_bits);
    for (unsigned i = 0; i < count; i++) c->counts[lengths[i]]++;
    c->counts[0] = 0;
    for (unsigned n = 1; n < 16; n++) {
        places[n] = (uint16_t)(places[n - 1] + c->counts[n - 1]);
        next[n] = (next[n - 1] + c->counts[n - 1]) << 1;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned n = lengths[i];
        if (!n) continue;
        c->symbols[places[n]++] = (uint16_t)i;
        unsigned bits = reversed(next[n]++, n);
        if (n > table_bits) continue;
        for (unsigned k = bits; k < 1u << table_bits; k += 1u << n) c->table[k] = (uint16_t)(i << 4 | n);
    }
}

/* Returns the next symbol, and its length as in a table; 0: none. */
static unsigned find_slowly(const code *c, uint64_t bits) {
    unsigned value = 0, first = 0, index = 0;
    for (unsigned n = 1; n < 16; n++, bits >>= 1) {
        value |= (unsigned)(bits & 1);
        if (value < first + c->counts[n]) return (unsigned)c->symbols[index + value - first] << 4 | n;
        index += c->counts[n];
        first = (first + c->counts[n]) << 1;
        value <<= 1;
    }
    return 0;
}

static inline unsigned find(const code *c, uint64_t bits) {
    unsigned entry = c->table[bits & ((1 << TABLE_BITS) - 1)];
    return entry ? entry : find_slowly(c, bits);
}

/* Reads the codes of a dynamic block (RFC 1951, 3.2.7); the reader is behind its type. */
static int read_codes(reader *r, block *b) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    unsigned literals = take(r, 5) + 257, distances = take(r, 5) + 1, count = take(r, 4) + 4, all = literals + distances;
    uint8_t  lengths[LITERALS + DISTANCES] = {0}, own[19] = {0};
    uint16_t table[128];
    if (literals > 286 || distances > 30) return 0;
    for (unsigned i = 0; i < count; i++) own[order[i]] = (uint8_t)take(r, 3);
    if (!is_complete(own, 19, 0)) return 0;
    unsigned next = 0, fill = 0;
    for (unsigned n = 1; n < 8; n++, next <<= 1)
        for (unsigned i = 0; i < 19; i++)
            if (own[i] == n)
                for (unsigned k = reversed(next++, n); k < 128; k += 1u << n) table[k] = (uint16_t)(i << 4 | n);
    for (unsigned i = 0; i < all;) {
        uint64_t bits = peek(r);
        unsigned entry = table[bits & 127], symbol = entry >> 4, width = entry & 15, repeats = 1, value = symbol;
        bits >>= width;
        if (symbol == 16) {
            if (i == 0) return 0;
            value = lengths[i - 1];
            repeats = 3 + (unsigned)(bits & 3);
            width += 2;
        } else if (symbol > 16) {
            value = 0;
            repeats = symbol == 17 ? 3 + (unsigned)(bits & 7) : 11 + (unsigned)(bits & 127);
            width += symbol == 17 ? 3 : 7;
        }
        if (repeats > all - i) return 0;
        memset(lengths + i, (int)value, repeats);
        i += repeats;
        /* A false header soon has too many short codes. */
        if (value && (fill += repeats << (15 - value)) > 2u << 15) return 0;
        r->at += width;
    }
    if (r->at > r->end || !lengths[END_SYMBOL]) return 0;
    if (!is_complete(lengths, literals, 0) || !is_complete(lengths + literals, distances, 1)) return 0;
    build(&b->literals, lengths, literals, TABLE_BITS);
    build(&b->distances, lengths + literals, distances, TABLE_BITS);
    return 1;
}

static int read_header(reader *r, block *b) {
    if (r->end - r->at < 3) return 0;
    b->is_last = (uint8_t)take(r, 1);
    b->type = (uint8_t)take(r, 2);
    if (b->type == 2) return read_codes(r, b);
    if (b->type == 1) {
        uint8_t lengths[LITERALS + DISTANCES];
        memset(lengths, 8, LITERALS);
        memset(lengths + 144, 9, 112);
        memset(lengths + 256, 7, 24);
        memset(lengths + LITERALS, 5, DISTANCES);
        build(&b->literals, lengths, LITERALS, TABLE_BITS);
        build(&b->distances, lengths + LITERALS, DISTANCES, TABLE_BITS);
    }
    return b->type != 3;
}

/* Walks the symbols up to the end of the block and counts their bytes. With `input`, compares them with
 * its bytes from `*said` on. */
static int read_symbols(reader *r, const block *b, const uint8_t *input, size_t input_count, size_t *said) {
    static const uint16_t bases[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t extras[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    size_t place = *said;
    while (r->at < r->end) {
        uint64_t bits = peek(r);
        unsigned entry = find(&b->literals, bits), symbol = entry >> 4, width = entry & 15;
        if (!entry) return 0;
        bits >>= width;
        r->at += width;
        if (symbol < END_SYMBOL) {
            if (place >= input_count || (input && input[place] != symbol)) return 0;
            place++;
            continue;
        }
        if (symbol == END_SYMBOL) {
            *said = place;
            return r->at <= r->end;
        }
        if (symbol > 285) return 0;
        unsigned extra = extras[symbol - 257], length = bases[symbol - 257] + (unsigned)(bits & ((1u << extra) - 1));
        bits >>= extra;
        unsigned far = find(&b->distances, bits), number = far >> 4, more = number < 4 ? 0 : number / 2 - 1;
        if (!far || number > 29 || length > input_count - place) return 0;
        bits >>= far & 15;
        r->at += extra + (far & 15) + more;
        if (input) {
            uint32_t base = number < 4 ? number : (2 + (number & 1)) << more;
            size_t distance = 1 + base + (size_t)(bits & (((uint64_t)1 << more) - 1));
            if (distance > place || memcmp(input + place, input + place - distance, length) != 0) return 0;
        }
        place += length;
    }
    return 0;
}

/* Whether a block that begins at the bit is the last: it ends with the stream, and decodes to the end of the input. */
static int is_last_block(const reader *stream, uint64_t at, const uint8_t *input, size_t count, block *b, uint64_t *end) {
    reader r = {stream->bytes, at, stream->end};
    if (!read_header(&r, b)) return 0;
    reader again = r;
    size_t said = 0;
    if (!read_symbols(&r, b, NULL, count, &said) || said < LEAST_BYTES || stream->end - r.at >= 8) return 0;
    size_t place = count - said;
    *end = r.at;
    return read_symbols(&again, b, input, count, &place) && place == count;
}

/* The sums of 2^(7 - length) of four lengths of three bits; at most the 19 lengths of a header have to fill 2^7. */
static unsigned fill_of(uint64_t lengths) {
    static const uint8_t fills[8] = {0, 64, 32, 16, 8, 4, 2, 1};
    unsigned sum = 0;
    for (; lengths; lengths >>= 3) sum += fills[lengths & 7];
    return sum;
}

/* Whether the last block can be a stored one: two bytes of length, their complement, and that many bytes to the end. */
static int can_end_stored(const reader *stream) {
    size_t count = (size_t)(stream->end >> 3);
    for (size_t length = 0; length <= 0xFFFF && length + 4 <= count; length++) {
        const uint8_t *at = stream->bytes + count - length - 4;
        if ((at[0] | (size_t)at[1] << 8) == length && (at[0] ^ at[2]) == 0xFF && (at[1] ^ at[3]) == 0xFF) return 1;
    }
    return 0;
}

/* Searches the header of the last block from the end. */
static int search(const reader *stream, const uint8_t *input, size_t count, block *b, uint64_t *start, uint64_t *end) {
    uint16_t fills[1 << 12];
    size_t bytes = (size_t)(stream->end >> 3), nearest = bytes > FARTHEST ? bytes - FARTHEST : 0;
    if (bytes < 64 || can_end_stored(stream)) return 0;
    for (unsigned i = 0; i < 1 << 12; i++) fills[i] = (uint16_t)fill_of(i);
    for (size_t first = bytes - 16; first > nearest; first--) {
        reader r = {stream->bytes, (uint64_t)first << 3, stream->end};
        uint64_t bits = peek(&r);
        /* The mark of the last block, and type 2. */
        for (unsigned found = (unsigned)(bits & ~(bits >> 1) & (bits >> 2) & 0xFF); found; found &= found - 1) {
            r.at = ((uint64_t)first << 3) + (unsigned)__builtin_ctz(found);
            uint64_t head = peek(&r) >> 3;
            if ((head & 31) > 29 || (head >> 5 & 31) > 29) continue;
            unsigned lengths = 3 * (unsigned)((head >> 10 & 15) + 4);
            r.at += 17;
            uint64_t own = peek(&r) & (~(uint64_t)0 >> (64 - (lengths < 56 ? lengths : 56)));
            unsigned fill = fills[own & 0xFFF] + fills[own >> 12 & 0xFFF] + fills[own >> 24 & 0xFFF] +
                            fills[own >> 36 & 0xFFF] + fills[own >> 48];
            /* The 57th bit is missing: it is checked with the rest. */
            if (lengths < 57 ? fill != 128 : fill > 255) continue;
            r.at -= 17;
            if (is_last_block(stream, r.at, input, count, b, end)) {
                *start = r.at;
                return 1;
            }
        }
    }
    return 0;
}

/* Walks from block to block. */
static int walk(const reader *stream, size_t count, block *b, uint64_t *start, uint64_t *end) {
    reader r = *stream;
    size_t said = 0;
    for (;;) {
        *start = r.at;
        if (!read_header(&r, b)) return 0;
        if (b->type == 0) {
            r.at = (r.at + 7) & ~(uint64_t)7;
            if (r.end - r.at < 32) return 0;
            uint64_t length = take(&r, 16);
            r.at += 16 + 8 * length;
            if (length > count - said || r.at > r.end) return 0;
            said += length;
        } else if (!read_symbols(&r, b, NULL, count, &said)) {
            return 0;
        }
        if (b->is_last) break;
    }
    *end = r.at;
    return said == count && r.end - r.at < 8;
}

size_t png_join(uint8_t *stream, size_t count, const uint8_t *input, size_t input_count) {
    reader   all = {stream, 0, (uint64_t)count << 3};
    block    b;
    uint64_t start = 0, end = 0;
    if (!search(&all, input, input_count, &b, &start, &end) && !walk(&all, input_count, &b, &start, &end)) return 0;
    stream[start >> 3] &= (uint8_t)~(1u << (start & 7));
    /* Three bits for an empty stored block, zeros up to the next byte, its length and the complement of that. */
    size_t used = (size_t)((end + 3 + 7) >> 3);
    static const uint8_t empty[4] = {0, 0, 0xFF, 0xFF};
    if (used > count) stream[count] = 0;
    memcpy(stream + used, empty, sizeof empty);
    return used + sizeof empty;
}
