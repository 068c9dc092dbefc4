/* gauss_blur.c - a small kernel in each direction. SPDX-License-Identifier: Apache-2.0 */
#include "gauss_blur.h"

#include <stdlib.h>

#include "vectors.h"
#include "work_rows.h"

enum { BLOCK = 16, MOST_REACH = 255 };

INLINED void wide8(const uint16_t *at, v8i *value) {
    v8h narrow;
    memcpy(&narrow, at, sizeof narrow);
    *value = __builtin_convertvector(narrow, v8i);
}

INLINED void put8(uint16_t *at, const v8f *value) {
    v8h narrow = __builtin_convertvector(__builtin_convertvector(*value + 0.5f, v8i), v8h);
    memcpy(at, &narrow, sizeof narrow);
}

/* `rows` are 2 * reach + 1 neighbors at any distance; `count` is a multiple of the block size. */
INLINED void weigh(const uint16_t *const *rows, const float *weights, uint64_t reach, uint16_t *to, uint64_t count) {
    const uint16_t *middle = rows[reach];
    for (uint64_t x = 0; x < count; x += BLOCK) {
        v8i first, second, third, fourth;
        wide8(middle + x, &first);
        wide8(middle + x + 8, &second);
        v8f low = __builtin_convertvector(first, v8f) * weights[0];
        v8f high = __builtin_convertvector(second, v8f) * weights[0];
        for (uint64_t k = 1; k <= reach; k++) {
            const uint16_t *before = rows[reach - k] + x, *behind = rows[reach + k] + x;
            wide8(before, &first);
            wide8(before + 8, &second);
            wide8(behind, &third);
            wide8(behind + 8, &fourth);
            low += __builtin_convertvector(first + third, v8f) * weights[k];
            high += __builtin_convertvector(second + fourth, v8f) * weights[k];
        }
        put8(to + x, &low);
        put8(to + x + 8, &high);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void weigh_avx2(const uint16_t *const *rows, const float *weights,
                                                       uint64_t reach, uint16_t *to, uint64_t count) {
    weigh(rows, weights, reach, to, count);
}
#endif

static void weigh_rows(const uint16_t *const *rows, const float *weights, uint64_t reach, uint16_t *to,
                       uint64_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        weigh_avx2(rows, weights, reach, to, count);
        return;
    }
#endif
    weigh(rows, weights, reach, to, count);
}

/* Repeats the edge pixels of a row on both sides. */
static void repeat_edges(uint16_t *row, uint64_t count, uint64_t reach) {
    for (uint64_t x = 1; x <= reach; x++) memcpy(row - 4 * x, row, 8);
    for (uint64_t x = 0; x < reach; x++) memcpy(row + 4 * (count + x), row + 4 * (count - 1), 8);
}

int32_t pixel_gauss_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                         uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                         const float *weights, uint32_t reach) {
    if (reach > MOST_REACH) return -1;
    const uint64_t samples = (width * 4 + BLOCK - 1) / BLOCK * BLOCK, taps = 2ull * reach + 1;
    const uint64_t kept_rows = height < taps ? height : taps;
    /* The horizontally weighted rows, the input row with its edges, and the output row. */
    uint16_t *ring = calloc((kept_rows + 2) * samples + 8ull * reach, sizeof *ring);
    if (!ring) return -1;
    uint16_t *row = ring + kept_rows * samples + 4 * reach, *result = row + samples + 4 * reach;
    const uint16_t *along[2 * MOST_REACH + 1], *down[2 * MOST_REACH + 1];
    for (uint64_t k = 0; k < taps; k++) along[k] = row + 4 * k - 4 * reach;
    for (uint64_t y = 0; y < height + reach; y++) {
        if (y < height) {
            pixel_work_load((const uint8_t *)source + y * source_stride, row, width, channels, bits, alpha);
            repeat_edges(row, width, reach);
            weigh_rows(along, weights, reach, ring + y % kept_rows * samples, samples);
        }
        if (y < reach) continue;
        for (uint64_t k = 0; k < taps; k++) {
            uint64_t index = y + k < 2ull * reach ? 0 : y + k - 2ull * reach;
            if (index >= height) index = height - 1;
            down[k] = ring + index % kept_rows * samples;
        }
        weigh_rows(down, weights, reach, result, samples);
        pixel_work_store(result, (uint8_t *)target + (y - reach) * target_stride, width, channels, bits, alpha);
    }
    free(ring);
    return 0;
}
