/* gauss_blur.c - a small kernel in each direction. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "blur_calls.h"
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

typedef struct {
    pixel_blur calls;
    pixel_rows rows;
    uint64_t samples, taps, kept_rows, reach;
    /* The horizontally weighted rows, the input row with its edges, and the output row. */
    uint16_t *ring, *row, *result;
    uint64_t taken, written;
    float weights[MOST_REACH + 1];
} gauss_blur;

/* Writes the row `reach` rows above the latest one, or above its repetition. */
static void write_row(gauss_blur *b, uint8_t *target) {
    const uint16_t *down[2 * MOST_REACH + 1];
    for (uint64_t k = 0; k < b->taps; k++) {
        uint64_t index = b->written + k < b->reach ? 0 : b->written + k - b->reach;
        if (index >= b->rows.height) index = b->rows.height - 1;
        down[k] = b->ring + index % b->kept_rows * b->samples;
    }
    weigh_rows(down, b->weights, b->reach, b->result, b->samples);
    pixel_work_store(b->result, target, b->rows.width, b->rows.channels, b->rows.bits, b->rows.alpha);
    b->written++;
}

static uint32_t take(pixel_blur *blur, const uint8_t *source, uint32_t count, uint8_t *target, uint64_t stride) {
    gauss_blur *b = (gauss_blur *)blur;
    const uint16_t *along[2 * MOST_REACH + 1];
    for (uint64_t k = 0; k < b->taps; k++) along[k] = b->row + 4 * k - 4 * b->reach;
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        pixel_work_load(source + i * stride, b->row, b->rows.width, b->rows.channels, b->rows.bits, b->rows.alpha);
        repeat_edges(b->row, b->rows.width, b->reach);
        weigh_rows(along, b->weights, b->reach, b->ring + b->taken % b->kept_rows * b->samples, b->samples);
        b->taken++;
        if (b->taken > b->reach) write_row(b, target + written++ * stride);
    }
    return written;
}

static void finish(pixel_blur *blur, uint8_t *target) { write_row((gauss_blur *)blur, target); }

static void release(pixel_blur *blur) {
    free(((gauss_blur *)blur)->ring);
    free(blur);
}

pixel_blur *pixel_blur_weights(pixel_rows rows, const float *weights, uint32_t reach) {
    if (reach > MOST_REACH) return NULL;
    gauss_blur *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    const uint64_t taps = 2ull * reach + 1, samples = (rows.width * 4 + BLOCK - 1) / BLOCK * BLOCK;
    b->calls = (pixel_blur){take, finish, release};
    b->rows = rows;
    b->samples = samples;
    b->taps = taps;
    b->kept_rows = rows.height < taps ? rows.height : taps;
    b->reach = reach;
    memcpy(b->weights, weights, (reach + 1) * sizeof *weights);
    b->ring = calloc((b->kept_rows + 2) * samples + 8ull * reach, sizeof *b->ring);
    if (!b->ring) {
        release(&b->calls);
        return NULL;
    }
    b->row = b->ring + b->kept_rows * samples + 4 * reach;
    b->result = b->row + samples + 4 * reach;
    return &b->calls;
}
