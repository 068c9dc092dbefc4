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

/* The guess of Paeth; with p = a + b - c these are p - a, p - b, p - c. */
INLINE words8 paeth(words8 a, words8 b, words8 c) {
    words8 to_a = b - c, to_b = a - c, to_c = to_a + to_b;
    words8 pa = __builtin_elementwise_abs(to_a);
    words8 pb = __builtin_elementwise_abs(to_b);
    words8 pc = __builtin_elementwise_abs(to_c);
    words8 least = __builtin_elementwise_min(__builtin_elementwise_min(pa, pb), pc);
    words8 is_a = (words8)(pa == least), is_b = (words8)(pb == least);
    return (is_a & a) | (~is_a & ((is_b & b) | (~is_b & c)));
}

INLINE void undo_paeth(uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    words8 a = {0}, c = {0}, next = wide(load(row, pixel)), mask = wide(own(pixel));
    for (uint8_t *end = row + count; row < end; row += pixel, prior += pixel) {
        words8 x = next, b = wide(load(prior, pixel)), guess = paeth(a, b, c);
        next = wide(load(row + pixel, pixel));
        store(row, narrow((x + (guess & mask)) & 0xFF), pixel);
        a = (x + guess) & 0xFF;
        c = b;
    }
}

/* Each step of a row waits for the one before. Rows that are done together, each one pixel behind the one above, are
 * several such chains side by side, and two of them fit into one vector: the upper row in the first four lanes. */
typedef struct pair {
    words8 a, c, next;
} pair;

typedef uint32_t word2 __attribute__((vector_size(8)));

INLINE words8 load_pair(const uint8_t *upper, const uint8_t *lower, unsigned pixel) {
    word2 v = {0};
    uint32_t u = 0, l = 0;
    memcpy(&u, upper, reach(pixel));
    memcpy(&l, lower, reach(pixel));
    v[0] = u;
    v[1] = l;
    return wide((bytes8)v);
}

/* One pixel of two rows; answers their bytes. */
INLINE word2 step(pair *p, words8 b, words8 next, words8 mask) {
    words8 guess = paeth(p->a, b, p->c), x = p->next;
    p->a = (x + guess) & 0xFF;
    p->c = b;
    p->next = next;
    return (word2)narrow((x + (guess & mask)) & 0xFF);
}

INLINE void undo_four_paeth(uint8_t *row, size_t stride, const uint8_t *prior, size_t count, unsigned pixel) {
    uint8_t *r0 = row, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    words8 four = wide(own(pixel)), mask = __builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3);
    ptrdiff_t pixels = (ptrdiff_t)(count / pixel);
    pair up = {.next = load_pair(r0, r1, pixel)}, low = {.next = load_pair(r2, r3, pixel)};
#define BELOW(first, second) __builtin_shufflevector(first, second, 4, 5, 6, 7, 8, 9, 10, 11)
#define ABOVE(first, second) __builtin_shufflevector(first, second, 0, 1, 2, 3, 8, 9, 10, 11)
#define AT(r, n) (r + (n) * (ptrdiff_t)pixel)
#define PUT(r, n, v, i)                         \
    do {                                        \
        uint32_t bytes_ = (v)[i];               \
        memcpy(AT(r, n), &bytes_, reach(pixel)); \
    } while (0)
    /* What a row has not begun it hands down as zero, and what it has ended it does not touch any more. */
#define EDGE(x)                                                                                                 \
    do {                                                                                                        \
        ptrdiff_t n_[4];                                                                                        \
        for (int i = 0; i < 4; i++) n_[i] = (x) - i + 1 < 0 ? 0 : (x) - i + 1 > pixels ? pixels : (x) - i + 1;  \
        words8 b_ = BELOW(up.a, low.a);                                                                         \
        word2 l_ = step(&low, b_, load_pair(AT(r2, n_[2]), AT(r3, n_[3]), pixel), mask);                        \
        words8 above_ = (x) < pixels ? wide(load(AT(prior, x), pixel)) : (words8){0};                           \
        word2 u_ = step(&up, ABOVE(above_, up.a), load_pair(AT(r0, n_[0]), AT(r1, n_[1]), pixel), mask);        \
        for (int i = 0; i < 4; i++) {                                                                           \
            if ((x) < 1) up.a[4 + i] = 0;                                                                       \
            if ((x) < 2) low.a[i] = 0;                                                                          \
            if ((x) < 3) low.a[4 + i] = 0;                                                                      \
        }                                                                                                       \
        if ((x) < pixels) PUT(r0, x, u_, 0);                                                                    \
        if ((x) >= 1 && (x) - 1 < pixels) PUT(r1, (x) - 1, u_, 1);                                              \
        if ((x) >= 2 && (x) - 2 < pixels) PUT(r2, (x) - 2, l_, 0);                                              \
        if ((x) >= 3) PUT(r3, (x) - 3, l_, 1);                                                                  \
    } while (0)
    for (ptrdiff_t x = 0; x < 3; x++) EDGE(x);
    for (ptrdiff_t x = 3; x < pixels; x++) {
        words8 b = BELOW(up.a, low.a), above = wide(load(AT(prior, x), pixel));
        word2 l = step(&low, b, load_pair(AT(r2, x - 1), AT(r3, x - 2), pixel), mask);
        word2 u = step(&up, ABOVE(above, up.a), load_pair(AT(r0, x + 1), AT(r1, x), pixel), mask);
        PUT(r0, x, u, 0);
        PUT(r1, x - 1, u, 1);
        PUT(r2, x - 2, l, 0);
        PUT(r3, x - 3, l, 1);
    }
    for (ptrdiff_t x = pixels; x < pixels + 3; x++) EDGE(x);
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
        undo_paeth(row, prior, count, pixel);
}

size_t png_unfilter(uint8_t *first, size_t stride, size_t rows, const uint8_t *prior, unsigned pixel) {
    size_t count = stride - 1;
    for (size_t y = 0; y < rows;) {
        uint8_t *row = first + y * stride + 1;
        unsigned type = row[-1];
        size_t run = 1;
        if (type > 4) return y;
        if (type == 4 && pixel <= 4 && count >= TOGETHER_FROM * pixel)
            while (run < TOGETHER && y + run < rows && row[run * stride - 1] == 4) run++;
        if (run == TOGETHER) {
            FOR_PIXELS(undo_four_paeth(row, stride, prior, count, P < 5 ? P : 4))
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
