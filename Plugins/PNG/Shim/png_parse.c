/*
 * png_parse.c - chooses the cheapest literals and known matches for a block.
 *
 * A searching compressor chooses matches by prices from before the block. Here the whole block is known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_blocks.h"

#include <string.h>

/* Prices are in parts of a bit. */
#define PARTS 16

typedef struct prices {
    uint32_t literal[256], length[PNG_LONGEST + 1], distance[PNG_DISTANCES];
} prices;

/* An unused code costs a little more than a code used once; none is shorter than a bit. */
static uint32_t price(const png_codes *c, uint32_t count, float total) {
    float bits = count ? total - png_log2(c, count) : total + 1;
    return (uint32_t)(PARTS * (bits < 1 ? 1 : bits) + 0.5f);
}

static void set_prices(const png_codes *c, const png_statistics *s, prices *p) {
    uint32_t literals = 0, distances = 0;
    for (unsigned i = 0; i < PNG_LITERALS; i++) literals += s->literals[i];
    for (unsigned i = 0; i < PNG_DISTANCES; i++) distances += s->distances[i];
    float first = png_log2(c, literals), second = distances ? png_log2(c, distances) : 1;
    for (unsigned i = 0; i < 256; i++) p->literal[i] = price(c, s->literals[i], first);
    for (unsigned i = PNG_SHORTEST; i <= PNG_LONGEST; i++) {
        unsigned code = c->length_code[i];
        p->length[i] = price(c, s->literals[PNG_END + 1 + code], first) + PARTS * png_length_extra[code];
    }
    for (unsigned i = 0; i < PNG_DISTANCES; i++)
        p->distance[i] = price(c, s->distances[i], second) + PARTS * png_distance_extra[i];
}

/* Follows the choices back from the end and records their matches. */
static int collect(const png_parser *parser, uint32_t begin, uint32_t count, png_matches *chosen) {
    size_t first = chosen->count;
    for (uint32_t at = count; at;) {
        uint32_t length = parser->choices[at] & 0xFFFF, distance = parser->choices[at] >> 16;
        at -= length;
        if (length == 1) continue;
        if (!png_add_match(chosen, (png_match){begin + at, (uint16_t)length, (uint16_t)distance})) return 0;
    }
    for (size_t i = first, j = chosen->count; i + 1 < j; i++) {
        png_match swap = chosen->all[i];
        chosen->all[i] = chosen->all[--j];
        chosen->all[j] = swap;
    }
    return 1;
}

int png_parse(const png_codes *c, const png_parser *parser, const uint8_t *bytes, uint32_t begin, uint32_t end,
              const png_matches *known, size_t *from, const png_statistics *s, png_matches *chosen) {
    prices          p;
    uint32_t       *costs = parser->costs, *choices = parser->choices, count = end - begin;
    const png_match *match = known->all + *from, *behind = known->all + known->count;
    set_prices(c, s, &p);
    memset(costs, 0xFF, ((size_t)count + 1) * sizeof *costs);
    costs[0] = 0;
    while (match < behind && match->at + match->length <= begin) match++;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t cost = costs[at] + p.literal[bytes[begin + at]];
        if (cost < costs[at + 1]) {
            costs[at + 1] = cost;
            choices[at + 1] = 1;
        }
        uint32_t place = begin + at;
        while (match < behind && match->at + match->length <= place) match++;
        if (match == behind || match->at > place) continue;
        uint32_t most = match->at + match->length - place;
        if (most > count - at) most = count - at;
        if (most < PNG_SHORTEST) continue;
        uint32_t here = costs[at] + p.distance[png_distance_code(c, match->distance)];
        uint32_t choice = (uint32_t)match->distance << 16;
        /* At its start a match may be shortened; after that only its remainder is useful. */
        uint32_t least = match->at == place || at == 0 ? PNG_SHORTEST : most;
        for (uint32_t length = least; length <= most; length++) {
            cost = here + p.length[length];
            if (cost < costs[at + length]) {
                costs[at + length] = cost;
                choices[at + length] = choice | length;
            }
        }
    }
    *from = (size_t)(match - known->all);
    return collect(parser, begin, count, chosen);
}
