/*
 * png_codes.c - tables of deflate, and the estimated cost of a block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* RFC 1951, 3.2.5. */
const uint16_t png_length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                      31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
const uint8_t png_length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
const uint16_t png_distance_base[PNG_DISTANCES] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,
                                                   33,  49,  65,  97,  129, 193,  257,  385,  513,  769,
                                                   1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
const uint8_t png_distance_extra[PNG_DISTANCES] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                   6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

void png_fill_codes(png_codes *c) {
    for (unsigned code = 0; code < 29; code++)
        for (unsigned i = 0; i < 1u << png_length_extra[code] && png_length_base[code] + i <= PNG_LONGEST; i++)
            c->length_code[png_length_base[code] + i] = (uint8_t)code;
    for (unsigned code = 0; code < PNG_DISTANCES; code++)
        for (unsigned i = 0; i < 1u << png_distance_extra[code]; i++) {
            unsigned less_one = png_distance_base[code] - 1u + i;
            if (less_one < 256)
                c->near_code[less_one] = (uint8_t)code;
            else
                c->far_code[less_one >> 7] = (uint8_t)code;
        }
    c->log2[0] = 0;
    for (unsigned i = 1; i < 4096; i++) c->log2[i] = log2f((float)i);
}

int png_add_match(png_matches *m, png_match match) {
    if (m->count == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 4096;
        png_match *larger = realloc(m->all, capacity * sizeof *larger);
        if (!larger) return 0;
        m->all = larger;
        m->capacity = capacity;
    }
    m->all[m->count++] = match;
    return 1;
}

/* Returns the entropy of codes, each at least one bit, and their extra bits. */
static float body(const png_codes *c, const uint32_t *counts, unsigned number, unsigned plain, const uint8_t *extra) {
    uint32_t total = 0, behind = 0, most = 0;
    float    bits = 0;
    for (unsigned i = 0; i < number; i++) {
        if (!counts[i]) continue;
        total += counts[i];
        if (counts[i] > most) most = counts[i];
        bits -= (float)counts[i] * png_log2(c, counts[i]);
        if (i >= plain) behind += counts[i] * extra[i - plain];
    }
    if (!total) return 0;
    bits += (float)total * png_log2(c, total);
    float shortest = png_log2(c, total) - png_log2(c, most);
    if (shortest < 1) bits += (float)most * (1 - shortest);
    return bits * 1.007f + (float)behind;
}

/* The lengths of codes: of used codes, and of runs of unused codes between them. By regression over 3,000 blocks,
 * together with the factor above for codes of whole bits. */
static float lengths(const uint32_t *counts, unsigned number) {
    unsigned used = 0, gaps = 0, single = 0, run = 0;
    for (unsigned i = 0; i < number; i++) {
        if (!counts[i]) {
            run++;
            continue;
        }
        used++;
        if (run > 2)
            gaps++;
        else
            single += run;
        run = 0;
    }
    return 2.6f * (float)used + 6.5f * (float)gaps + 3 * (float)single;
}

float png_estimate(const png_codes *c, const png_statistics *s) {
    return 110 + lengths(s->literals, PNG_LITERALS) + lengths(s->distances, PNG_DISTANCES) +
           body(c, s->literals, PNG_LITERALS, PNG_END + 1, png_length_extra) +
           body(c, s->distances, PNG_DISTANCES, 0, png_distance_extra);
}
