/*
 * png_unfilter.c - undoes the row filters, several samples at a time.
 *
 * Written with the compiler's vectors, so that the same lines become SSE on x86-64 and NEON on aarch64. A row is
 * decoded pixel by pixel if each depends on the one to its left. The length of this chain determines the speed, so all
 * calculations that do not need the left pixel are done outside of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_rows.h"

#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Functions with vectors of 32 bytes are all inlined, so that their calling convention does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

/* The number of Paeth rows decoded at once, and the minimum row length in pixels for that. */
#define TOGETHER 4
#define TOGETHER_FROM 16

#define INLINE static inline __attribute__((always_inline))

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t words8 __attribute__((vector_size(16)));
typedef int8_t signed8 __attribute__((vector_size(8)));
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef int16_t words16 __attribute__((vector_size(32)));

/* Loads and stores take 4 or 8 bytes: for a shorter pixel, the bytes behind it are loaded too. */
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

/* Every load comes before the store to the pixel on its left, which writes the bytes behind that pixel back
 * unchanged: a load that overlaps a pending store would have to wait for it. */

INLINE void undo_sub(uint8_t *row, size_t count, unsigned pixel) {
    bytes8 left = {0}, mask = own(pixel), next = load(row, pixel);
    for (uint8_t *end = row + count; row < end; row += pixel) {
        bytes8 x = next;
        next = load(row + pixel, pixel);
        store(row, x + (left & mask), pixel);
        left = x + left;
    }
}

/* Four pixels of three or four bytes at a time: sums within them, then the sum before them. Needs the shuffle of
 * single bytes that SSE2 lacks. */
INLINE void undo_sub_four(uint8_t *row, size_t count, unsigned pixel) {
    const bytes16 zero = {0};
    size_t i = 0;
    bytes16 before = zero, next;
    memcpy(&next, row, 16);
    for (; i + 4 * pixel + 16 <= count; i += 4 * pixel) {
        bytes16 x = next;
        memcpy(&next, row + i + 4 * pixel, 16);
        if (pixel == 4) {
            x += __builtin_shufflevector(zero, x, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27);
            x += __builtin_shufflevector(zero, x, 0, 0, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23);
            x += before;
            before = __builtin_shufflevector(x, x, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15);
        } else {
            x += __builtin_shufflevector(zero, x, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28);
            x += __builtin_shufflevector(zero, x, 0, 0, 0, 0, 0, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25);
            x += before;
            before = __builtin_shufflevector(x, x, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9, 10, 11, 9);
        }
        memcpy(row + i, &x, 16);
    }
    /* Restores the bytes behind the last pixels. */
    memcpy(row + i, &next, 16);
    for (; i < count; i++) row[i] += i < pixel ? 0 : row[i - pixel];
}

static void undo_up(uint8_t *restrict row, const uint8_t *restrict prior, size_t count) {
    for (size_t i = 0; i < count; i++) row[i] += prior[i];
}

/* The ceiling of the mean, which has its own instruction. */
INLINE bytes16 mean(bytes16 a, bytes16 b) {
#if defined(__SSE2__)
    return (bytes16)_mm_avg_epu8((__m128i)a, (__m128i)b);
#elif defined(__ARM_NEON)
    return (bytes16)vrhaddq_u8((uint8x16_t)a, (uint8x16_t)b);
#else
    return (a | b) - ((a ^ b) >> 1);
#endif
}

INLINE bytes16 load16(const uint8_t *p, unsigned pixel) {
    bytes16 v = {0};
    memcpy(&v, p, reach(pixel));
    return v;
}

INLINE void undo_average(uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    /* The floor of a mean is the complement of the ceiling of the complements. With those only two steps lead from
     * one pixel to the next: the ceiling, and a difference instead of a sum. */
    bytes16 left = ~(bytes16){0}, mask = left, next = load16(row, pixel);
    for (unsigned i = pixel; i < 16; i++) mask[i] = 0;
    for (uint8_t *end = row + count; row < end; row += pixel, prior += pixel) {
        bytes16 x = next, up = ~load16(prior, pixel);
        next = load16(row + pixel, pixel);
        left = mean(left, up) - x;
        bytes16 whole = (~left & mask) | (x & ~mask);
        memcpy(row, &whole, reach(pixel));
    }
}

INLINE words8 wide(bytes8 v) { return __builtin_convertvector(v, words8); }
INLINE bytes8 narrow(words8 v) { return __builtin_convertvector(v, bytes8); }

/* The sum of a stored byte and the Paeth prediction, with a to the left, b above and c left above; `x_c` = x + c and
 * `edge` = 3c - b do not wait for a.
 *
 * With t = 3c - a - b the prediction is the larger one of a and b where t does not exceed the smaller one. It is the
 * smaller one where t is at least the larger one, and c in between. Where both hold, a, b and c are equal, and the added
 * differences are zero. The caller drops the upper halves of the words. There are five steps from one pixel to the
 * next; the definition has twice as many. */
INLINE words8 add_paeth(words8 x_c, words8 edge, words8 a, words8 b, words8 c) {
    words8 t = edge - a;
    words8 low = __builtin_elementwise_min(a, b), high = __builtin_elementwise_max(a, b);
    words8 to_low = (words8)(t >= high) & (low - c), to_high = (words8)(t <= low) & (high - c);
    return x_c + to_low + to_high;
}

/* One row of the filter Paeth. Once b and c are known, the prediction depends only on a. It is
 *
 *     a  up to 3c - 2b   min(b, c)  up to (3c - b) / 2   max(b, c)  up to b   a         where b >= c
 *     a  up to b         min(b, c)  up to (3c - b) / 2   max(b, c)  up to 3c - 2b   a   where b <  c
 *
 * So these bounds are computed for many pixels at a time, and three steps remain from one pixel to the next: compare,
 * choose one of the two in the middle, choose that or a. Samples are compared as signed, with inverted upper bits. */
#define AHEAD 96
#define TURN 0x80

typedef struct bounds {
    /* The stored byte; the bounds: below the first and above the second it is a, below the third the lower candidate;
     * the sums of the stored byte and each of the two candidates. */
    uint8_t x[AHEAD + 16], below[AHEAD + 16], above[AHEAD + 16], middle[AHEAD + 16], low[AHEAD + 16], high[AHEAD + 16];
} bounds;

INLINE bytes8 chosen(signed8 mask, bytes8 yes, bytes8 no) { return ((bytes8)mask & yes) | (~(bytes8)mask & no); }

INLINE words16 wide16(bytes16 v) { return __builtin_convertvector(v, words16); }
INLINE bytes16 narrow16(words16 v) { return __builtin_convertvector(v, bytes16); }

INLINE bytes16 clamped(words16 v) {
    words16 zero = {0};
    return narrow16(__builtin_elementwise_min(__builtin_elementwise_max(v, zero), zero + 255)) ^ TURN;
}

INLINE void find_bounds(bounds *to, const uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    for (size_t i = 0; i < count; i += 16) {
        bytes16 x, b8, c8;
        memcpy(&x, row + i, 16);
        memcpy(&b8, prior + i, 16);
        memcpy(&c8, prior + i - pixel, 16);
        words16 b = wide16(b8), c = wide16(c8), is_up = (words16)(b >= c), far = c + c + c - b - b;
        /* In the exact middle, b wins. */
        words16 middle = ((c + c + c - b + is_up) >> 1) + 1;
        bytes16 least = __builtin_elementwise_min(b8, c8), most = __builtin_elementwise_max(b8, c8);
        /* If the bound is above every sample, it equals that of the largest sample: then there is one candidate. */
        bytes16 no_high = narrow16((words16)(middle > 255) & 0xFF);
        most = (most & ~no_high) | (least & no_high);
        bytes16 below = clamped(__builtin_elementwise_min(b, far) + 1);
        bytes16 above = clamped(__builtin_elementwise_max(b, far) - 1), half = clamped(middle);
        bytes16 low = (x + least) ^ TURN, high = (x + most) ^ TURN;
        memcpy(to->x + i, &x, 16);
        memcpy(to->below + i, &below, 16);
        memcpy(to->above + i, &above, 16);
        memcpy(to->middle + i, &half, 16);
        memcpy(to->low + i, &low, 16);
        memcpy(to->high + i, &high, 16);
    }
}

INLINE void undo_paeth(uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    bounds at;
    for (unsigned i = 0; i < pixel; i++) row[i] += prior[i];
    bytes8 left = load(row, pixel) ^ TURN;
    for (size_t done = pixel; done < count;) {
        size_t step = count - done < AHEAD / pixel * pixel ? count - done : AHEAD / pixel * pixel;
        uint8_t behind[8];
        memcpy(behind, row + done + step, 8);
        find_bounds(&at, row + done, prior + done, step, pixel);
        for (size_t i = 0; i < step; i += pixel) {
            signed8 a = (signed8)left;
            signed8 is_a = (a < (signed8)load(at.below + i, pixel)) | (a > (signed8)load(at.above + i, pixel));
            signed8 is_low = a < (signed8)load(at.middle + i, pixel);
            bytes8 sum = load(at.x + i, pixel) + left;
            bytes8 other = chosen(is_low, load(at.low + i, pixel), load(at.high + i, pixel));
            left = chosen(is_a, sum, other);
            store(row + done + i, left ^ TURN, pixel);
        }
        done += step;
        memcpy(row + done, behind, 8);
    }
}

/* Each step of a row waits for the one before. Rows decoded together, each one pixel behind the row above, are
 * several parallel chains, and two of them fit into one vector: the upper row in the first four lanes. */
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

/* Decodes one pixel of two rows; returns their bytes. In b, the bytes behind the pixels are zero. */
INLINE word2 step(pair *p, words8 b, words8 next, words8 mask) {
    words8 sum = add_paeth(p->next + p->c, p->c + p->c + p->c - b, p->a, b, p->c);
    p->a = sum & mask;
    p->c = b;
    p->next = next;
    return (word2)narrow(sum & 0xFF);
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
    /* A row that has not begun yields zeros, and a finished row is not changed any more. */
#define EDGE(x)                                                                                                 \
    do {                                                                                                        \
        ptrdiff_t n_[4];                                                                                        \
        for (int i = 0; i < 4; i++) n_[i] = (x) - i + 1 < 0 ? 0 : (x) - i + 1 > pixels ? pixels : (x) - i + 1;  \
        words8 b_ = BELOW(up.a, low.a);                                                                         \
        word2 l_ = step(&low, b_, load_pair(AT(r2, n_[2]), AT(r3, n_[3]), pixel), mask);                        \
        words8 above_ = (x) < pixels ? wide(load(AT(prior, x), pixel)) & mask : (words8){0};                    \
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
        words8 b = BELOW(up.a, low.a), above = wide(load(AT(prior, x), pixel)) & mask;
        word2 l = step(&low, b, load_pair(AT(r2, x - 1), AT(r3, x - 2), pixel), mask);
        word2 u = step(&up, ABOVE(above, up.a), load_pair(AT(r0, x + 1), AT(r1, x), pixel), mask);
        PUT(r0, x, u, 0);
        PUT(r1, x - 1, u, 1);
        PUT(r2, x - 2, l, 0);
        PUT(r3, x - 3, l, 1);
    }
    for (ptrdiff_t x = pixels; x < pixels + 3; x++) EDGE(x);
}

/* For pixels of one or two bytes, general registers are faster than moves to vectors and back. */
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

INLINE void undo_one(unsigned type, uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel, int shuffles) {
    if (pixel < 3)
        undo_narrow(type, row, prior, count, pixel);
    else if (type == 1 && pixel <= 4 && shuffles && count >= 64)
        undo_sub_four(row, count, pixel);
    else if (type == 1)
        undo_sub(row, count, pixel);
    else if (type == 3)
        undo_average(row, prior, count, pixel);
    else
        undo_paeth(row, prior, count, pixel);
}

static void undo_plain(unsigned type, uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
#if defined(__SSE2__)
    FOR_PIXELS(undo_one(type, row, prior, count, P, 0))
#else
    FOR_PIXELS(undo_one(type, row, prior, count, P, 1))
#endif
}

#if defined(__x86_64__)
/* The blends that these instructions have make the filter Paeth half as long; the filters of four rows at once do not
 * gain from them. */
__attribute__((target("avx2"))) static void undo_avx2(unsigned type, uint8_t *row, const uint8_t *prior, size_t count,
                                                      unsigned pixel) {
    FOR_PIXELS(undo_one(type, row, prior, count, P, 1))
}
#endif

static void undo(unsigned type, uint8_t *row, const uint8_t *prior, size_t count, unsigned pixel) {
    if (type == 0) return;
    if (type == 2) {
        undo_up(row, prior, count);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        undo_avx2(type, row, prior, count, pixel);
        return;
    }
#endif
    undo_plain(type, row, prior, count, pixel);
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
        } else {
            run = 1;
            undo(type, row, prior, count, pixel);
        }
        y += run;
        prior = first + (y - 1) * stride + 1;
    }
    return rows;
}
