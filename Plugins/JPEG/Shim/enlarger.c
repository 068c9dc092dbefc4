#include "enlarger.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct jpegs_enlarger {
    uint32_t width, height, channels;
    size_t   large_bytes; /* of the requested part of a large row                   */
    uint32_t read;        /* small rows requested so far                            */
    int      is_fresh;    /* `small` has a row that is not in `below` yet           */
    uint8_t *small;
    uint8_t *above;       /* small rows at full width, 8 * width pixels each        */
    uint8_t *below;
    uint8_t  memory[];
};

jpegs_enlarger *jpegs_enlarger_new(uint32_t width, uint32_t height, uint32_t large_width, uint32_t channels) {
    size_t          row = (size_t)width * channels;
    jpegs_enlarger *e = malloc(sizeof *e + row * 17);
    if (!e) return NULL;
    memset(e, 0, sizeof *e);
    e->width = width;
    e->height = height;
    e->channels = channels;
    e->large_bytes = (size_t)large_width * channels;
    e->small = e->memory;
    e->above = e->small + row;
    e->below = e->above + row * 8;
    return e;
}

void jpegs_enlarger_free(jpegs_enlarger *e) { free(e); }

/* `channels` is a constant at every inlined call, so the compiler vectorizes the inner loops. */
static inline void widen(const uint8_t *restrict small, uint32_t width, uint32_t channels, uint8_t *restrict large) {
    for (uint32_t i = 0; i < 4 * channels; i++) *large++ = small[i % channels];
    for (uint32_t x = 0; x + 1 < width; x++, small += channels, large += 8 * channels) {
        uint8_t left[32], right[32];
        for (uint32_t i = 0; i < 8; i++) {
            memcpy(left + i * channels, small, channels);
            memcpy(right + i * channels, small + channels, channels);
        }
        for (uint32_t i = 0; i < 8 * channels; i++) {
            uint16_t weight = (uint16_t)(i / channels * 2 + 1);
            large[i] = (uint8_t)((uint16_t)(left[i] * (16 - weight) + right[i] * weight + 8) >> 4);
        }
    }
    for (uint32_t i = 0; i < 4 * channels; i++) *large++ = small[i % channels];
}

/* `weight` sixteenths of `below`, the rest of `above`; products fit 16 bits, which suits vector instructions. */
static void mix(const uint8_t *restrict above, const uint8_t *restrict below, uint16_t weight, size_t count,
                uint8_t *restrict row) {
    uint16_t rest = 16 - weight;
    for (size_t i = 0; i < count; i++) {
        row[i] = (uint8_t)((uint16_t)((uint16_t)(above[i] * rest) + (uint16_t)(below[i] * weight) + 8) >> 4);
    }
}

uint8_t *jpegs_enlarger_wants(jpegs_enlarger *e, uint32_t y) {
    if (y != 0 && y % 8 != 4) return NULL;
    uint8_t *above = e->above;
    e->above = e->below;
    e->below = above;
    if (e->read == e->height) {
        memcpy(e->below, e->above, e->large_bytes);
        return NULL;
    }
    e->read++;
    e->is_fresh = 1;
    return e->small;
}

void jpegs_enlarger_row(jpegs_enlarger *e, uint32_t y, uint8_t *row) {
    if (e->is_fresh) {
        switch (e->channels) {
        case 1:  widen(e->small, e->width, 1, e->below); break;
        case 3:  widen(e->small, e->width, 3, e->below); break;
        default: widen(e->small, e->width, 4, e->below); break;
        }
        e->is_fresh = 0;
    }
    if (y < 4) {
        memcpy(row, e->below, e->large_bytes);
        return;
    }
    mix(e->above, e->below, (uint16_t)((y + 4) % 8 * 2 + 1), e->large_bytes, row);
}
