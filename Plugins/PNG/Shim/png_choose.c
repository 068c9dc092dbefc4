/*
 * png_choose.c - chooses the filter of a row by its cost under each filter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_choose.h"

#include "png_filter.h"
#include "png_shrink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILTERS 5
/* The number of rows in the history. */
#define HISTORY 8
#define LOGS    4096
/* Row lengths up to which undoing single counts is faster than clearing all counts: of bytes, of pairs. */
#define SHORT 384
#define LONG  1024

struct png_chooser {
    size_t    capacity;
    uint8_t  *filtered[FILTERS];
    uint32_t  history[256], history_total;
    uint8_t   seen[1 << 13];      /* a bit for each pair of bytes */
    uint32_t *pairs;              /* the number of each in the row */
    float     log2[LOGS], steps[LOGS]; /* the growth of n log n when n grows by one */
};

png_chooser *png_chooser_open(size_t count) {
    png_chooser *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    uint8_t *memory = malloc(FILTERS * (count + 1));
    c->pairs = calloc(1 << 16, sizeof *c->pairs);
    if (!memory || !c->pairs) {
        free(memory);
        free(c->pairs);
        free(c);
        return NULL;
    }
    for (unsigned n = 0; n < FILTERS; n++) c->filtered[n] = memory + n * (count + 1);
    c->capacity = count;
    for (unsigned i = 1; i < LOGS; i++) c->log2[i] = log2f((float)i);
    for (unsigned i = 0; i + 1 < LOGS; i++) c->steps[i] = (float)(i + 1) * c->log2[i + 1] - (float)i * c->log2[i];
    c->steps[LOGS - 1] = c->steps[LOGS - 2];
    png_chooser_reset(c);
    return c;
}

void png_chooser_close(png_chooser *c) {
    if (!c) return;
    free(c->filtered[0]);
    free(c->pairs);
    free(c);
}

void png_chooser_reset(png_chooser *c) {
    memset(c->history, 0, sizeof c->history);
    c->history_total = 0;
}

static float log2_of(const png_chooser *c, uint32_t value) {
    if (value < LOGS) return c->log2[value];
    int shift = 20 - __builtin_clz(value);
    return c->log2[value >> shift] + (float)shift;
}

/* Counts bytes in four tables, so that equal neighbors do not wait for each other. */
static void count_bytes(uint32_t counts[256], const uint8_t *bytes, size_t count) {
    uint32_t parts[4][256] = {{0}};
    size_t   i = 0;
    for (; i + 4 <= count; i += 4)
        for (unsigned k = 0; k < 4; k++) parts[k][bytes[i + k]]++;
    for (; i < count; i++) parts[0][bytes[i]]++;
    for (unsigned b = 0; b < 256; b++) counts[b] = parts[0][b] + parts[1][b] + parts[2][b] + parts[3][b];
}

static float step_of(const png_chooser *c, uint32_t n) { return c->steps[n < LOGS ? n : LOGS - 1]; }

/* The entropy: lower if few values dominate. */
static float entropy(png_chooser *c, const uint8_t *bytes, size_t count) {
    uint32_t counts[256];
    float    bits = 0;
    if (count < SHORT) {
        for (size_t i = 0; i < count; i++) bits -= step_of(c, c->pairs[bytes[i]]++);
        for (size_t i = 0; i < count; i++) c->pairs[bytes[i]] = 0;
        return bits;
    }
    count_bytes(counts, bytes, count);
    for (unsigned b = 0; b < 256; b++) bits -= (float)counts[b] * log2_of(c, counts[b]);
    return bits;
}

/* Returns the bits of a row under the joint statistics of earlier rows and its own. */
static float history_bits(png_chooser *c, const uint8_t *bytes, size_t count) {
    uint32_t counts[256];
    float    bits = 0, total = log2_of(c, c->history_total + (uint32_t)count);
    if (count < SHORT) {
        for (size_t i = 0; i < count; i++) c->pairs[bytes[i]]++;
        for (size_t i = 0; i < count; i++) {
            uint32_t *own = c->pairs + bytes[i];
            if (*own) bits += (float)*own * (total - log2_of(c, c->history[bytes[i]] + *own));
            *own = 0;
        }
        return bits;
    }
    count_bytes(counts, bytes, count);
    for (unsigned b = 0; b < 256; b++)
        if (counts[b]) bits += (float)counts[b] * (total - log2_of(c, c->history[b] + counts[b]));
    return bits;
}

static void add_history(png_chooser *c, const uint8_t *bytes, size_t count) {
    if (c->history_total > HISTORY * count) {
        c->history_total = 0;
        for (unsigned b = 0; b < 256; b++) {
            c->history[b] -= c->history[b] / HISTORY;
            c->history_total += c->history[b];
        }
    }
    for (size_t i = 0; i < count; i++) c->history[bytes[i]]++;
    c->history_total += (uint32_t)count;
}

static uint32_t pair_at(const uint8_t *bytes, size_t i) { return (uint32_t)bytes[i - 1] << 8 | bytes[i]; }

static float distinct_pairs(png_chooser *c, const uint8_t *bytes, size_t count) {
    uint32_t found = 0;
    if (count < LONG) {
        for (size_t i = 1; i < count; i++) found += !c->pairs[pair_at(bytes, i)]++;
        for (size_t i = 1; i < count; i++) c->pairs[pair_at(bytes, i)] = 0;
        return (float)found;
    }
    memset(c->seen, 0, sizeof c->seen);
    for (size_t i = 1; i < count; i++) {
        uint32_t pair = pair_at(bytes, i);
        c->seen[pair >> 3] |= (uint8_t)(1 << (pair & 7));
    }
    for (size_t i = 0; i < sizeof c->seen; i += 8) {
        uint64_t word;
        memcpy(&word, c->seen + i, 8);
        found += (uint32_t)__builtin_popcountll(word);
    }
    return (float)found;
}

static float pair_entropy(png_chooser *c, const uint8_t *bytes, size_t count) {
    float bits = 0;
    for (size_t i = 1; i < count; i++) bits -= step_of(c, c->pairs[pair_at(bytes, i)]++);
    for (size_t i = 1; i < count; i++) c->pairs[pair_at(bytes, i)] = 0;
    return bits;
}

static float cost(png_chooser *c, unsigned strategy, const uint8_t *bytes, size_t count) {
    switch (strategy) {
        case PNGSHIM_BY_ENTROPY: return entropy(c, bytes, count);
        case PNGSHIM_BY_PAIRS: return distinct_pairs(c, bytes, count);
        case PNGSHIM_BY_HISTORY: return history_bits(c, bytes, count);
        default: return pair_entropy(c, bytes, count);
    }
}

void png_choose_filter(png_chooser *c, unsigned strategy, uint8_t *to, const uint8_t *row, const uint8_t *prior,
                       size_t count, size_t step) {
    if (strategy <= PNGSHIM_BY_SIZE) {
        unsigned number = strategy < FILTERS ? strategy : png_best_filter(0x1F, row, prior, count, step);
        to[0] = (uint8_t)number;
        png_filter(number, to + 1, row, prior, count, step);
        return;
    }
    float    least = 0;
    unsigned best = 0;
    for (unsigned n = 0; n < FILTERS; n++) {
        png_filter(n, c->filtered[n], row, prior, count, step);
        float found = cost(c, strategy, c->filtered[n], count);
        if (n == 0 || found < least) {
            least = found;
            best = n;
        }
    }
    if (strategy == PNGSHIM_BY_HISTORY) add_history(c, c->filtered[best], count);
    to[0] = (uint8_t)best;
    memcpy(to + 1, c->filtered[best], count);
}
