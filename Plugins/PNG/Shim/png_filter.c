/*
 * png_filter.c - filters rows, and finds the filter with the smallest sum.
 *
 * Written with the compiler's vectors: 32 bytes are two registers of SSE2 or NEON, and one of AVX2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "png_filter.h"

#include <string.h>

/* Functions with vectors of 32 bytes are all inlined, so that their calling convention does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline))
#define LANES 32
/* The number of steps after which 16-bit sums are emptied: each adds at most 2 × 128. */
#define STEPS 255

typedef uint8_t bytes32 __attribute__((vector_size(LANES)));
typedef uint16_t words16 __attribute__((vector_size(LANES)));

INLINE bytes32 load(const uint8_t *p) {
    bytes32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE bytes32 chosen(bytes32 mask, bytes32 yes, bytes32 no) { return (mask & yes) | (~mask & no); }
INLINE bytes32 smaller(bytes32 a, bytes32 b) { return __builtin_elementwise_min(a, b); }
INLINE bytes32 larger(bytes32 a, bytes32 b) { return __builtin_elementwise_max(a, b); }

/* The floor of the mean. */
INLINE bytes32 mean(bytes32 a, bytes32 b) { return (a & b) + ((a ^ b) >> 1); }

/* The Paeth prediction in eight bits: the distances to b and a are differences; that to c is their sum where b and a
 * lie on the same side of c, their difference where they do not. */
INLINE bytes32 paeth(bytes32 a, bytes32 b, bytes32 c) {
    bytes32 b_is_up = (bytes32)(b >= c), a_is_up = (bytes32)(a >= c);
    bytes32 pa = larger(b, c) - smaller(b, c), pb = larger(a, c) - smaller(a, c);
    bytes32 sum = __builtin_elementwise_add_sat(pa, pb), difference = larger(pa, pb) - smaller(pa, pb);
    bytes32 pc = chosen(b_is_up ^ a_is_up, difference, sum);
    bytes32 is_a = (bytes32)(pa <= pb) & (bytes32)(pa <= pc);
    return chosen(is_a, a, chosen((bytes32)(pb <= pc), b, c));
}

INLINE uint8_t guess_one(unsigned number, int a, int b, int c) {
    int p = a + b - c, pa = p > a ? p - a : a - p, pb = p > b ? p - b : b - p, pc = p > c ? p - c : c - p;
    switch (number) {
        case 0: return 0;
        case 1: return (uint8_t)a;
        case 2: return (uint8_t)b;
        case 3: return (uint8_t)((a + b) >> 1);
        default: return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
    }
}

INLINE uint8_t filter_one(unsigned number, const uint8_t *row, const uint8_t *prior, size_t i, size_t step) {
    int a = i < step ? 0 : row[i - step], c = i < step ? 0 : prior[i - step];
    return (uint8_t)(row[i] - guess_one(number, a, prior[i], c));
}

INLINE bytes32 guess(unsigned number, bytes32 a, bytes32 b, bytes32 c) {
    switch (number) {
        case 0: return (bytes32){0};
        case 1: return a;
        case 2: return b;
        case 3: return mean(a, b);
        default: return paeth(a, b, c);
    }
}

INLINE void filter(unsigned number, uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    size_t i = 0;
    for (; i < step && i < count; i++) to[i] = filter_one(number, row, prior, i, step);
    for (; i + LANES <= count; i += LANES) {
        bytes32 v = load(row + i) - guess(number, load(row + i - step), load(prior + i), load(prior + i - step));
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < count; i++) to[i] = filter_one(number, row, prior, i, step);
}

INLINE void filter_any(unsigned number, uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count,
                       size_t step) {
    switch (number) {
        case 0: memcpy(to, row, count); break;
        case 1: filter(1, to, row, prior, count, step); break;
        case 2: filter(2, to, row, prior, count, step); break;
        case 3: filter(3, to, row, prior, count, step); break;
        default: filter(4, to, row, prior, count, step);
    }
}

/* Adds the absolute values of bytes to sums. */
INLINE words16 add_sizes(words16 sums, bytes32 v) {
    words16 pairs = (words16)smaller(v, -v);
    return sums + (pairs & 0xFF) + (pairs >> 8);
}

INLINE uint64_t total(words16 sums) {
    uint64_t all = 0;
    for (unsigned i = 0; i < LANES / 2; i++) all += sums[i];
    return all;
}

INLINE void measure(uint64_t costs[5], const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    size_t i = 0, rest;
    for (int n = 0; n < 5; n++) costs[n] = 0;
    size_t first = count < step ? count : step;
    while (count - first - i >= LANES) {
        words16 sums[5] = {{0}, {0}, {0}, {0}, {0}};
        size_t steps = (count - first - i) / LANES;
        for (steps = steps < STEPS ? steps : STEPS; steps; steps--, i += LANES) {
            const uint8_t *at = row + first + i, *above = prior + first + i;
            bytes32 x = load(at), a = load(at - step), b = load(above), c = load(above - step);
            sums[0] = add_sizes(sums[0], x);
            sums[1] = add_sizes(sums[1], x - a);
            sums[2] = add_sizes(sums[2], x - b);
            sums[3] = add_sizes(sums[3], x - mean(a, b));
            sums[4] = add_sizes(sums[4], x - paeth(a, b, c));
        }
        for (int n = 0; n < 5; n++) costs[n] += total(sums[n]);
    }
    rest = first + i;
    for (unsigned n = 0; n < 5; n++)
        for (size_t k = 0; k < count; k++) {
            if (k == first) k = rest;
            if (k >= count) break;
            uint8_t v = filter_one(n, row, prior, k, step);
            costs[n] += v < 128 ? v : 256u - v;
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void filter_avx2(unsigned number, uint8_t *to, const uint8_t *row,
                                                        const uint8_t *prior, size_t count, size_t step) {
    filter_any(number, to, row, prior, count, step);
}
__attribute__((target("avx2"))) static void measure_avx2(uint64_t costs[5], const uint8_t *row, const uint8_t *prior,
                                                         size_t count, size_t step) {
    measure(costs, row, prior, count, step);
}
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
#define filter_avx2 filter_any
#define measure_avx2 measure
static int has_avx2(void) { return 0; }
#endif

static void filter_plain(unsigned number, uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count,
                         size_t step) {
    filter_any(number, to, row, prior, count, step);
}

static void measure_plain(uint64_t costs[5], const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    measure(costs, row, prior, count, step);
}

void png_filter(unsigned number, uint8_t *to, const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    if (has_avx2())
        filter_avx2(number, to, row, prior, count, step);
    else
        filter_plain(number, to, row, prior, count, step);
}

unsigned png_best_filter(uint8_t filters, const uint8_t *row, const uint8_t *prior, size_t count, size_t step) {
    if ((filters & (filters - 1)) == 0) return (unsigned)__builtin_ctz(filters);
    uint64_t costs[5], least = UINT64_MAX;
    unsigned best = 0;
    if (has_avx2())
        measure_avx2(costs, row, prior, count, step);
    else
        measure_plain(costs, row, prior, count, step);
    for (unsigned n = 0; n < 5; n++)
        if (filters >> n & 1 && costs[n] < least) {
            least = costs[n];
            best = n;
        }
    return best;
}
