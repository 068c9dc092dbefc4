/*
 * png_squeeze.c - divides data into blocks where its statistics change, and chooses among known matches again.
 *
 * A compressor ends a block when the next few codes differ from those before. Here parts of a thousand codes are merged
 * as long as one block is shorter than two, which is some permille better and needs no search. Prices from literals
 * alone lead to another local minimum than the compressor's: for noise, where short matches cost more than they save.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_squeeze.h"

#include <stdlib.h>
#include <string.h>

/* The number of codes in the smallest part. */
#define GRAIN 1024
/* Small data has smaller parts, so that there are several. */
#define LEAST_GRAIN 128
#define PARTS 64
/* The maximum ratio of a literal-only block for which its prices are tried. */
#define HOPE 1.7
/* The minimum saving of a round; a round below it is the last. */
#define ENOUGH 1000

typedef struct part {
    png_block block;
    float     cost, gain; /* of merging with the next one */
    uint32_t  next;       /* 0: none */
} part;

struct png_squeezer {
    png_codes   codes;
    png_parser  parser;
    part       *parts;
    size_t      capacity, count;
    png_matches known, chosen, trial, better;
    uint64_t    bits, literal_bits; /* of all blocks, and without matches */
};

uint64_t png_squeezer_memory(size_t most) {
    /* Prices and choices; four lists of matches, of four bytes or more in the mean; parts. */
    return sizeof(png_squeezer) + 8 * (uint64_t)most + 4 * (uint64_t)most / 4 * sizeof(png_match) +
           (uint64_t)most / GRAIN * sizeof(part);
}

png_squeezer *png_squeezer_open(size_t most) {
    png_squeezer *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->parser.costs = malloc((most + 1) * sizeof *s->parser.costs);
    s->parser.choices = malloc((most + 1) * sizeof *s->parser.choices);
    if (!s->parser.costs || !s->parser.choices) {
        png_squeezer_close(s);
        return NULL;
    }
    png_fill_codes(&s->codes);
    return s;
}

void png_squeezer_close(png_squeezer *s) {
    if (!s) return;
    free(s->parser.costs);
    free(s->parser.choices);
    free(s->parts);
    free(s->known.all);
    free(s->chosen.all);
    free(s->trial.all);
    free(s->better.all);
    free(s);
}

/* Counts one match, or the literal at `at`; returns its number of bytes. */
static uint32_t note(const png_codes *c, png_statistics *s, const uint8_t *bytes, uint32_t at, const png_match *m) {
    if (!m) {
        s->literals[bytes[at]]++;
        return 1;
    }
    s->literals[PNG_END + 1 + c->length_code[m->length]]++;
    s->distances[png_distance_code(c, m->distance)]++;
    return m->length;
}

/* ---- parts ---- */

static part *add_part(png_squeezer *s) {
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 64;
        part  *larger = realloc(s->parts, capacity * sizeof *larger);
        if (!larger) return NULL;
        s->parts = larger;
        s->capacity = capacity;
    }
    memset(s->parts + s->count, 0, sizeof(part));
    return s->parts + s->count++;
}

static int divide(png_squeezer *s, const uint8_t *bytes, uint32_t begin, uint32_t end, const png_matches *m) {
    size_t next = 0, codes = m->count + (end - begin);
    for (size_t i = 0; i < m->count; i++) codes -= m->all[i].length;
    size_t grain = codes / PARTS < LEAST_GRAIN ? LEAST_GRAIN : codes / PARTS > GRAIN ? GRAIN : codes / PARTS;
    s->count = 0;
    for (uint32_t at = begin; at < end;) {
        part *p = add_part(s);
        if (!p) return 0;
        p->block.begin = at;
        p->block.first = next;
        for (size_t i = 0; i < grain && at < end; i++) {
            const png_match *match = next < m->count && m->all[next].at == at ? m->all + next++ : NULL;
            at += note(&s->codes, &p->block.statistics, bytes, at, match);
        }
        p->block.end = at;
        p->block.last = next;
        p->block.statistics.literals[PNG_END] = 1;
        p->next = at < end ? (uint32_t)s->count : 0;
    }
    return 1;
}

static void add(png_statistics *to, const png_statistics *from) {
    for (unsigned i = 0; i < PNG_LITERALS; i++) to->literals[i] += from->literals[i];
    for (unsigned i = 0; i < PNG_DISTANCES; i++) to->distances[i] += from->distances[i];
    to->literals[PNG_END] = 1;
}

/* Returns the bits of a block: estimated, which is fast, or exact. */
static float bits_of(const png_squeezer *s, const png_statistics *statistics, int exactly) {
    return exactly ? (float)png_block_bits(statistics) : png_estimate(&s->codes, statistics);
}

static float gain(const png_squeezer *s, const part *p, int exactly) {
    if (!p->next) return -1;
    png_statistics both = p->block.statistics;
    add(&both, &s->parts[p->next].block.statistics);
    return p->cost + s->parts[p->next].cost - bits_of(s, &both, exactly);
}

/* Merges neighbors that gain more together than each with its other neighbor, until no merge gains. */
static void merge_parts(png_squeezer *s, int exactly) {
    int has_changed = 1;
    for (part *p = s->parts;; p = s->parts + p->next) {
        p->cost = bits_of(s, &p->block.statistics, exactly);
        if (!p->next) break;
    }
    for (part *p = s->parts;; p = s->parts + p->next) {
        p->gain = gain(s, p, exactly);
        if (!p->next) break;
    }
    while (has_changed) {
        float before = -1;
        part *last = NULL;
        has_changed = 0;
        for (part *p = s->parts;; p = s->parts + p->next) {
            float own = p->gain;
            if (p->next && own > 0 && own >= before && own > s->parts[p->next].gain) {
                part *next = s->parts + p->next;
                p->cost += next->cost - own;
                add(&p->block.statistics, &next->block.statistics);
                p->block.end = next->block.end;
                p->block.last = next->block.last;
                p->next = next->next;
                p->gain = gain(s, p, exactly);
                if (last) last->gain = gain(s, last, exactly);
                own = -1;
                has_changed = 1;
            }
            before = own;
            last = p;
            if (!p->next) break;
        }
    }
}

static void merge(png_squeezer *s) {
    merge_parts(s, 0);
    merge_parts(s, 1);
}

/* ---- better codes for a block ---- */

static uint64_t count_block(const png_squeezer *s, const png_block *b, const uint8_t *bytes, const png_matches *m,
                            png_statistics *statistics) {
    size_t next = 0;
    memset(statistics, 0, sizeof *statistics);
    for (uint32_t at = b->begin; at < b->end;) {
        const png_match *match = next < m->count && m->all[next].at == at ? m->all + next++ : NULL;
        at += note(&s->codes, statistics, bytes, at, match);
    }
    statistics->literals[PNG_END] = 1;
    return png_block_bits(statistics);
}

/* Tries prices from `from`, then prices from the result, as long as a round saves enough;
 * keeps a result that is better than `least`. */
static int try_prices(png_squeezer *s, const png_block *b, const uint8_t *bytes, size_t known, png_statistics from,
                      int rounds, uint64_t *least) {
    uint64_t last = UINT64_MAX;
    while (rounds--) {
        size_t at = known;
        s->trial.count = 0;
        if (!png_parse(&s->codes, &s->parser, bytes, b->begin, b->end, &s->known, &at, &from, &s->trial)) return 0;
        uint64_t cost = count_block(s, b, bytes, &s->trial, &from);
        int      is_last = cost > last - last / ENOUGH;
        last = cost;
        if (cost < *least) {
            *least = cost;
            png_matches swap = s->better;
            s->better = s->trial;
            s->trial = swap;
        }
        if (is_last) break;
    }
    return 1;
}

/* Chooses the matches of a block again. `known` is the first that may affect it. */
static int improve(png_squeezer *s, const part *p, const uint8_t *bytes, const png_matches *now, size_t known) {
    const png_block *b = &p->block;
    png_statistics   literals = {0};
    uint64_t         before = png_block_bits(&b->statistics), least = before;
    s->better.count = 0;
    s->bits += before;
    s->literal_bits += before;
    if (b->first == b->last) return 1;
    for (uint32_t at = b->begin; at < b->end; at++) literals.literals[bytes[at]]++;
    literals.literals[PNG_END] = 1;
    uint64_t alone = png_block_bits(&literals);
    if (alone < least) {
        least = alone;
    } else {
        if (!try_prices(s, b, bytes, known, b->statistics, 1, &least)) return 0;
    }
    if (alone < before * HOPE && !try_prices(s, b, bytes, known, literals, 3, &least)) return 0;
    s->bits -= before - least;
    s->literal_bits += alone - before;
    const png_match *best = least < before ? s->better.all : now->all + b->first;
    size_t           count = least < before ? s->better.count : b->last - b->first;
    for (size_t i = 0; i < count; i++)
        if (!png_add_match(&s->chosen, best[i])) return 0;
    return 1;
}

/* Drops matches that end before `before`, and shortens those that reach over it. */
static void drop_before(png_matches *m, uint32_t before) {
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        png_match match = m->all[i];
        if (match.at + match.length <= before) continue;
        if (match.at < before) {
            match.length = (uint16_t)(match.length - (before - match.at));
            match.at = before;
            if (match.length < PNG_SHORTEST) continue;
        }
        m->all[kept++] = match;
    }
    m->count = kept;
}

int png_squeeze(png_squeezer *s, const uint8_t *bytes, size_t before, size_t count, const uint8_t *stream,
                size_t stream_count, png_bits *bits, int is_last) {
    uint32_t begin = (uint32_t)before, end = (uint32_t)count;
    size_t   known = 0;
    s->bits = s->literal_bits = 0;
    s->known.count = 0;
    if (stream && !png_read_matches(stream, stream_count, count, &s->known)) return 0;
    drop_before(&s->known, begin);
    if (!divide(s, bytes, begin, end, &s->known)) return 0;
    merge(s);
    s->chosen.count = 0;
    for (part *p = s->parts;; p = s->parts + p->next) {
        while (known < s->known.count && s->known.all[known].at + s->known.all[known].length <= p->block.begin) known++;
        if (!improve(s, p, bytes, &s->known, known)) return 0;
        if (!p->next) break;
    }
    if (!divide(s, bytes, begin, end, &s->chosen)) return 0;
    merge(s);
    for (part *p = s->parts;; p = s->parts + p->next) {
        png_write_block(bits, &s->codes, &p->block, bytes, s->chosen.all, is_last && !p->next);
        if (!p->next) break;
    }
    return !bits->failed;
}

float png_squeezer_gain(const png_squeezer *s) {
    return s->literal_bits ? (float)((double)(s->literal_bits - s->bits) / (double)s->literal_bits) : 0;
}
