/*
 * png_unfilter.c - undoes the row filters, several samples at a time.
 *
 * Written with the compiler's vectors, so that the same lines become SSE on x86-64 and NEON on aarch64. A row is done
 * pixel by pixel where each depends on the one to its left; the length of that chain is what counts, so everything
 * that does not hang on the left pixel is kept out of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"

#include <stdlib.h>
#include <string.h>

/* Rows of the filter Paeth that are done at once, and the pixels from which on a row is long enough for that. */
#define TOGETHER 4
#define TOGETHER_FROM 16

#define INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t words8 __attribute__((vector_size(16)));

/* Loads and stores take 4 or 8 bytes: at a time, whatever lies behind a shorter pixel is loaded too. */
INLINE size_t reach(unsigned pixel) { return pixel <= 2 ? pixel : pixel <= 4 ? 4 : 8; }

INLINE bytes8 load(const uint8_t *p, unsigned pixel) {
    bytes8 v = {0};
    memcpy(&v, p, reach(pixel));
    return v;
}

INLINE void store(uint8_t *p, bytes8 v, unsigned pixel) { memcpy(p, &v, reach(pixel)); }

/* All ones in the bytes of a pixel, zero behind it. */
INLINE bytes8 own(unsigned pixel) {
    bytes8 v = {0};
    for (unsigned i = 0; i < pixel; i++) v[i] = 0xFF;
    return v;
}

/* Every load stands in front of the store to the pixel on its left, which writes the bytes behind that pixel back as
 * they were: a load that overlaps a store on its way to memory would have to wait for it. */

INLINE void undo_sub(uint8_t *row, size_t count, unsigned pixel) {
    bytes8 left = {0}, mask = own(pixel), next = load(row, pixel);
    for (uint8_t *end = row + count; row < end; row += pixel) {
        bytes8 x = next;
        next = load(row + pixel, pixel);
        store(row, x + (left & mask), pixel);
        left = x + left;
    }
}

static void undo_up(uint8_t *restrict row, const uint8_t *restrict prior, size_t count) {
    for (size_t i = 0; i < count; i++) row[i] += prior[i];
}

INLINE void undo_average(uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    bytes8 left = {0}, mask = own(pixel), next = load(row, pixel);
    for (uint8_t *end = row + count; row < end; row += pixel, prior += pixel) {
        bytes8 x = next, up = load(prior, pixel);
        next = load(row + pixel, pixel);
        /* The floor of the mean without a ninth bit. */
        bytes8 mean = (left & up) + (((left ^ up) >> 1) & 0x7F);
        store(row, x + (mean & mask), pixel);
        left = x + mean;
    }
}

INLINE words8 wide(bytes8 v) { return __builtin_convertvector(v, words8); }
INLINE bytes8 narrow(words8 v) { return __builtin_convertvector(v, bytes8); }

/* What a row hands on from pixel to pixel: its last one, and those above and above left of the next. */
typedef struct chain {
    words8 a, b, c, next;
} chain;

INLINE void paeth_step(chain *s, uint8_t *at, unsigned pixel, words8 mask) {
    /* With p = a + b - c: p - a, p - b, p - c. */
    words8 to_a = s->b - s->c, to_b = s->a - s->c, to_c = to_a + to_b;
    words8 pa = __builtin_elementwise_abs(to_a);
    words8 pb = __builtin_elementwise_abs(to_b);
    words8 pc = __builtin_elementwise_abs(to_c);
    words8 least = __builtin_elementwise_min(__builtin_elementwise_min(pa, pb), pc);
    words8 is_a = (words8)(pa == least), is_b = (words8)(pb == least);
    words8 guess = (is_a & s->a) | (~is_a & ((is_b & s->b) | (~is_b & s->c)));
    words8 x = s->next;
    s->next = wide(load(at + pixel, pixel));
    s->a = (x + guess) & 0xFF;
    store(at, narrow((x + (guess & mask)) & 0xFF), pixel);
    s->c = s->b;
}

/* A row depends on its left neighbours in one long chain. Several rows at once, each one pixel behind the one above,
 * are several chains that a processor works on side by side. */
INLINE void undo_paeth(uint8_t *row, size_t stride, unsigned rows, const uint8_t *prior, size_t count, unsigned pixel) {
    words8 mask = wide(own(pixel));
    chain s[TOGETHER];
    size_t pixels = count / pixel;
    for (unsigned r = 0; r < rows; r++) s[r] = (chain){.next = wide(load(row + r * stride, pixel))};
    for (size_t x = 0; x < pixels + rows - 1; x++) {
        int inside = x >= rows - 1 && x < pixels;
        /* From the last row up, so that each finds above it what the one above did a step before. */
        for (unsigned r = rows; r-- > 0;) {
            if (!inside && (x < r || x - r >= pixels)) continue;
            s[r].b = r ? s[r - 1].a : wide(load(prior + x * pixel, pixel));
            paeth_step(&s[r], row + r * stride + (x - r) * pixel, pixel, mask);
        }
    }
}

/* Pixels of one or two bytes: the general registers are faster than moves into vectors and back. */
INLINE void undo_narrow(unsigned type, uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    int a[2] = {0, 0}, c[2] = {0, 0};
    for (size_t i = 0; i < count; i += pixel)
        for (unsigned k = 0; k < pixel; k++) {
            int b = type == 1 ? 0 : prior[i + k], guess = a[k];
            if (type == 3) guess = (a[k] + b) >> 1;
            if (type == 4) {
                int to_a = b - c[k], to_b = a[k] - c[k];
                int pa = abs(to_a), pb = abs(to_b), pc = abs(to_a + to_b);
                int other = pb <= pc ? b : c[k], least = pb <= pc ? pb : pc;
                guess = pa <= least ? a[k] : other;
                c[k] = b;
            }
            a[k] = row[i + k] = (uint8_t)(row[i + k] + guess);
        }
}

#define FOR_PIXELS(call)                               \
    switch (pixel) {                                   \
        case 1: { enum { P = 1 }; call; } break;       \
        case 2: { enum { P = 2 }; call; } break;       \
        case 3: { enum { P = 3 }; call; } break;       \
        case 4: { enum { P = 4 }; call; } break;       \
        case 6: { enum { P = 6 }; call; } break;       \
        default: { enum { P = 8 }; call; } break;      \
    }

INLINE void undo_one(unsigned type, uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    if (type == 2)
        undo_up(row, prior, count);
    else if (pixel < 3)
        undo_narrow(type, row, prior, count, pixel);
    else if (type == 1)
        undo_sub(row, count, pixel);
    else if (type == 3)
        undo_average(row, prior, count, pixel);
    else
        undo_paeth(row, 0, 1, prior, count, pixel);
}

INLINE size_t undo(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel) {
    size_t count = stride - 1;
    for (size_t y = 0; y < rows;) {
        uint8_t *row = first + y * stride + 1;
        unsigned type = row[-1];
        size_t run = 1;
        if (type > 4) return y;
        if (type == 4 && count >= TOGETHER_FROM * pixel)
            while (run < TOGETHER && y + run < rows && row[run * stride - 1] == 4) run++;
        if (run == TOGETHER) {
            FOR_PIXELS(undo_paeth(row, stride, TOGETHER, prior, count, P))
        } else if (type) {
            run = 1;
            FOR_PIXELS(undo_one(type, row, prior, count, P))
        } else
            run = 1;
        y += run;
        prior = first + (y - 1) * stride + 1;
    }
    return rows;
}

static size_t undo_anywhere(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel) {
    return undo(first, stride, rows, prior, pixel);
}

#if defined(__x86_64__) && !defined(__SSE4_1__)
/* A maximum, an absolute value and a selection that the baseline has to put together: a third of the time of Paeth. */
__attribute__((target("sse4.1"))) static size_t undo_with_sse4(uint8_t *first, size_t stride, size_t rows,
                                                               const uint8_t *prior, unsigned pixel) {
    return undo(first, stride, rows, prior, pixel);
}

size_t png_unfilter(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel) {
    if (__builtin_cpu_supports("sse4.1")) return undo_with_sse4(first, stride, rows, prior, pixel);
    return undo_anywhere(first, stride, rows, prior, pixel);
}
#else
size_t png_unfilter(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel) {
    return undo_anywhere(first, stride, rows, prior, pixel);
}
#endif
