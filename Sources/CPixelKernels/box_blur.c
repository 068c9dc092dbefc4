/* box_blur.c - three boxes in each direction. SPDX-License-Identifier: Apache-2.0 */
#include "box_blur.h"

#include <stdlib.h>

#include "vectors.h"
#include "work_rows.h"

/* Two pixels side by side, one of each row. */
INLINED void two_pixels(const uint16_t *a, const uint16_t *b, v8i *pixels) {
    v4h first, second;
    memcpy(&first, a, 8);
    memcpy(&second, b, 8);
    *pixels = __builtin_convertvector(__builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7), v8i);
}

/* The weights of a box: of its inner pixels, and of the two outermost pixels. */
typedef struct {
    float inner, outer;
} box_weights;

INLINED v8h average8(const v8i *sum, const v8i *ends, box_weights weights) {
    v8f value = __builtin_convertvector(*sum, v8f) * weights.inner;
    value += __builtin_convertvector(*ends, v8f) * weights.outer;
    return __builtin_convertvector(__builtin_convertvector(value + 0.5f, v8i), v8h);
}

/* One box along two rows; `reach` extra pixels surround the rows on both sides. */
INLINED void along(const uint16_t *a, const uint16_t *b, uint16_t *to_a, uint16_t *to_b, uint64_t count,
                   uint64_t reach, box_weights weights) {
    v8i sum = {0}, added, first, outermost;
    const uint16_t *old_a = a - 4 * reach, *old_b = b - 4 * reach;
    two_pixels(old_a, old_b, &outermost);
    for (uint64_t x = 1; x < 2 * reach; x++) {
        two_pixels(old_a + 4 * x, old_b + 4 * x, &added);
        sum += added;
    }
    const uint16_t *new_a = a + 4 * reach, *new_b = b + 4 * reach;
    for (uint64_t x = 0; x < count; x++) {
        two_pixels(new_a + 4 * x, new_b + 4 * x, &added);
        v8i ends = added + outermost;
        v8h value = average8(&sum, &ends, weights);
        memcpy(to_a + 4 * x, &value, 8);
        memcpy(to_b + 4 * x, (const char *)&value + 8, 8);
        two_pixels(old_a + 4 * (x + 1), old_b + 4 * (x + 1), &first);
        sum += added - first;
        outermost = first;
    }
}

/* The rows that a step of a vertical box reads, and the slot for the new row, or NULL. */
typedef struct {
    const uint16_t *added, *first, *outermost;
    uint16_t *kept;
} box_rows;

/* `kept` may be the outermost row: each sample is read before it is written. */
INLINED void down(box_rows rows, int32_t *restrict sums, uint16_t *restrict averages, uint64_t count,
                  box_weights weights) {
    uint64_t x = 0;
    for (; x + 8 <= count; x += 8) {
        v8h added, first, outermost;
        v8i sum;
        memcpy(&added, rows.added + x, sizeof added);
        memcpy(&first, rows.first + x, sizeof first);
        memcpy(&outermost, rows.outermost + x, sizeof outermost);
        memcpy(&sum, sums + x, sizeof sum);
        v8i wide = __builtin_convertvector(added, v8i), ends = wide + __builtin_convertvector(outermost, v8i);
        v8h value = average8(&sum, &ends, weights);
        sum += wide - __builtin_convertvector(first, v8i);
        memcpy(sums + x, &sum, sizeof sum);
        memcpy(averages + x, &value, sizeof value);
        if (rows.kept) memcpy(rows.kept + x, &added, sizeof added);
    }
    for (; x < count; x++) {
        int32_t added = rows.added[x], ends = added + rows.outermost[x];
        float value = (float)sums[x] * weights.inner;
        value += (float)ends * weights.outer;
        sums[x] += added - (int32_t)rows.first[x];
        averages[x] = (uint16_t)(int32_t)(value + 0.5f);
        if (rows.kept) rows.kept[x] = (uint16_t)added;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void along_avx2(const uint16_t *a, const uint16_t *b, uint16_t *to_a,
                                                       uint16_t *to_b, uint64_t count, uint64_t reach,
                                                       box_weights weights) {
    along(a, b, to_a, to_b, count, reach, weights);
}
__attribute__((target("avx2"))) static void down_avx2(box_rows rows, int32_t *sums, uint16_t *averages, uint64_t count,
                                                      box_weights weights) {
    down(rows, sums, averages, count, weights);
}
#endif

static void box_along(const uint16_t *a, const uint16_t *b, uint16_t *to_a, uint16_t *to_b, uint64_t count,
                      uint64_t reach, box_weights weights) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        along_avx2(a, b, to_a, to_b, count, reach, weights);
        return;
    }
#endif
    along(a, b, to_a, to_b, count, reach, weights);
}

static void box_down(box_rows rows, int32_t *sums, uint16_t *averages, uint64_t count, box_weights weights) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        down_avx2(rows, sums, averages, count, weights);
        return;
    }
#endif
    down(rows, sums, averages, count, weights);
}

enum { PASSES = 3 };

/* A vertical box: a row that is fed in comes out `reach` rows later. */
typedef struct {
    uint16_t *ring;     /* the latest input rows */
    int32_t *sums;      /* of each column, without the two ends */
    uint16_t *averages; /* the output row */
    uint64_t fed;
} column_box;

typedef struct {
    column_box boxes[PASSES];
    uint64_t samples, kept_rows, height, reach;
    box_weights weights;
    uint8_t *target;
    uint64_t target_stride, width, written;
    uint32_t channels, bits, alpha;
} blur;

static void write_row(blur *b, const uint16_t *work) {
    pixel_work_store(work, b->target + b->written * b->target_stride, b->width, b->channels, b->bits, b->alpha);
    b->written++;
}

static void feed(blur *b, int pass, const uint16_t *row) {
    if (pass == PASSES) {
        write_row(b, row);
        return;
    }
    column_box *box = &b->boxes[pass];
    uint64_t index = box->fed++;
    uint16_t *slot = box->ring + index % b->kept_rows * b->samples;
    /* After the end, the last row is repeated and the ring stays unchanged. */
    uint16_t *kept = index < b->height ? slot : NULL;
    if (index < b->reach) {
        /* Before the start, the first row is repeated. */
        int32_t times = index == 0 ? (int32_t)b->reach : 1;
        for (uint64_t x = 0; x < b->samples; x++) box->sums[x] += times * row[x];
        if (kept) memcpy(kept, row, b->samples * 2);
        return;
    }
    uint64_t outermost = index < 2 * b->reach ? 0 : index - 2 * b->reach;
    uint64_t first = index < 2 * b->reach ? 0 : outermost + 1;
    box_rows rows = {.added = row,
                     .first = box->ring + first % b->kept_rows * b->samples,
                     .outermost = box->ring + outermost % b->kept_rows * b->samples,
                     .kept = kept};
    box_down(rows, box->sums, box->averages, b->samples, b->weights);
    feed(b, pass + 1, box->averages);
}

/* Repeats the edge pixels of a row on both sides. */
static void repeat_edges(uint16_t *row, uint64_t count, uint64_t reach) {
    for (uint64_t x = 1; x <= reach; x++) memcpy(row - 4 * x, row, 8);
    for (uint64_t x = 0; x < reach; x++) memcpy(row + 4 * (count + x), row + 4 * (count - 1), 8);
}

static int32_t run(blur *b, const uint8_t *source, uint64_t source_stride) {
    uint64_t padded = b->samples + 8 * b->reach;
    uint16_t *rows = calloc(4 * padded, sizeof *rows);
    if (!rows) return -1;
    /* Two rows go through each box together, from one pair of buffers to the other. */
    uint16_t *buffers[2][2];
    for (int i = 0; i < 4; i++) buffers[i / 2][i % 2] = rows + i * padded + 4 * b->reach;
    for (uint64_t y = 0; y < b->height; y += 2) {
        uint64_t pair = b->height - y < 2 ? 1 : 2;
        for (uint64_t i = 0; i < pair; i++) {
            pixel_work_load(source + (y + i) * source_stride, buffers[0][i], b->width, b->channels, b->bits, b->alpha);
        }
        int from = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            for (uint64_t i = 0; i < pair; i++) repeat_edges(buffers[from][i], b->width, b->reach);
            box_along(buffers[from][0], buffers[from][pair - 1], buffers[!from][0], buffers[!from][pair - 1], b->width,
                      b->reach, b->weights);
            from = !from;
        }
        for (uint64_t i = 0; i < pair; i++) feed(b, 0, buffers[from][i]);
    }
    free(rows);
    for (int pass = 0; pass < PASSES; pass++) {
        const uint16_t *last = b->boxes[pass].ring + (b->height - 1) % b->kept_rows * b->samples;
        for (uint64_t i = 0; i < b->reach; i++) feed(b, pass, last);
    }
    return 0;
}

int32_t pixel_box_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                       uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                       uint32_t reach, float inner, float outer) {
    blur b = {.samples = width * 4,
              .kept_rows = height < 2ull * reach ? height : 2ull * reach,
              .height = height,
              .reach = reach,
              .weights = {.inner = inner, .outer = outer},
              .target = target,
              .target_stride = target_stride,
              .width = width,
              .channels = channels,
              .bits = bits,
              .alpha = alpha};
    int32_t result = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        column_box *column = &b.boxes[pass];
        column->ring = calloc(b.kept_rows, b.samples * sizeof *column->ring);
        column->sums = calloc(b.samples, sizeof *column->sums);
        column->averages = calloc(b.samples, sizeof *column->averages);
        if (!column->ring || !column->sums || !column->averages) result = -1;
    }
    if (result == 0) result = run(&b, source, source_stride);
    for (int pass = 0; pass < PASSES; pass++) {
        free(b.boxes[pass].ring);
        free(b.boxes[pass].sums);
        free(b.boxes[pass].averages);
    }
    return result;
}
