/* box_blur.c - three boxes in each direction. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "blur_calls.h"
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
    pixel_blur calls;
    pixel_rows rows;
    column_box boxes[PASSES];
    uint64_t samples, kept_rows, reach;
    box_weights weights;
    /* Two rows go through each horizontal box together, from one pair of buffers to the other. */
    uint16_t *edged, *buffers[2][2];
    /* After the end, the last row is fed into each box `reach` times. */
    uint64_t repeated;
    /* The place for the next output row. */
    uint8_t *target;
    uint64_t stride;
    uint32_t written;
} box_blur;

static void write_row(box_blur *b, const uint16_t *work) {
    const pixel_rows *rows = &b->rows;
    pixel_work_store(work, b->target + b->written * b->stride, rows->width, rows->channels, rows->bits, rows->alpha);
    b->written++;
}

static void feed(box_blur *b, int pass, const uint16_t *row) {
    if (pass == PASSES) {
        write_row(b, row);
        return;
    }
    column_box *box = &b->boxes[pass];
    uint64_t index = box->fed++;
    uint16_t *slot = box->ring + index % b->kept_rows * b->samples;
    /* After the end, the last row is repeated and the ring stays unchanged. */
    uint16_t *kept = index < b->rows.height ? slot : NULL;
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

static uint32_t take(pixel_blur *blur, const uint8_t *source, uint32_t count, uint8_t *target, uint64_t stride) {
    box_blur *b = (box_blur *)blur;
    const pixel_rows *rows = &b->rows;
    b->target = target;
    b->stride = stride;
    b->written = 0;
    for (uint32_t i = 0; i < count; i++) {
        pixel_work_load(source + i * stride, b->buffers[0][i], rows->width, rows->channels, rows->bits, rows->alpha);
    }
    int from = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        for (uint32_t i = 0; i < count; i++) repeat_edges(b->buffers[from][i], rows->width, b->reach);
        box_along(b->buffers[from][0], b->buffers[from][count - 1], b->buffers[!from][0], b->buffers[!from][count - 1],
                  rows->width, b->reach, b->weights);
        from = !from;
    }
    for (uint32_t i = 0; i < count; i++) feed(b, 0, b->buffers[from][i]);
    return b->written;
}

static void finish(pixel_blur *blur, uint8_t *target) {
    box_blur *b = (box_blur *)blur;
    b->target = target;
    b->written = 0;
    while (b->written == 0 && b->repeated < PASSES * b->reach) {
        int pass = (int)(b->repeated++ / b->reach);
        feed(b, pass, b->boxes[pass].ring + (b->rows.height - 1) % b->kept_rows * b->samples);
    }
}

static void release(pixel_blur *blur) {
    box_blur *b = (box_blur *)blur;
    for (int pass = 0; pass < PASSES; pass++) {
        free(b->boxes[pass].ring);
        free(b->boxes[pass].sums);
        free(b->boxes[pass].averages);
    }
    free(b->edged);
    free(b);
}

pixel_blur *pixel_blur_boxes(pixel_rows rows, uint32_t reach, float inner, float outer) {
    box_blur *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    *b = (box_blur){.calls = {take, finish, release},
                    .rows = rows,
                    .samples = rows.width * 4,
                    .kept_rows = rows.height < 2ull * reach ? rows.height : 2ull * reach,
                    .reach = reach,
                    .weights = {.inner = inner, .outer = outer}};
    uint64_t padded = b->samples + 8 * b->reach;
    b->edged = calloc(4 * padded, sizeof *b->edged);
    int has_memory = b->edged != NULL;
    for (int pass = 0; pass < PASSES; pass++) {
        column_box *column = &b->boxes[pass];
        column->ring = calloc(b->kept_rows, b->samples * sizeof *column->ring);
        column->sums = calloc(b->samples, sizeof *column->sums);
        column->averages = calloc(b->samples, sizeof *column->averages);
        has_memory = has_memory && column->ring && column->sums && column->averages;
    }
    if (!has_memory) {
        release(&b->calls);
        return NULL;
    }
    for (int i = 0; i < 4; i++) b->buffers[i / 2][i % 2] = b->edged + i * padded + 4 * b->reach;
    return &b->calls;
}
