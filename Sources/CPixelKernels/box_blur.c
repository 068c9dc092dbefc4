/* box_blur.c - up to three boxes in each direction. SPDX-License-Identifier: Apache-2.0 */
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

INLINED v8h average8(const v8i *sum, float inverse) {
    v8f value = __builtin_convertvector(*sum, v8f) * inverse + 0.5f;
    return __builtin_convertvector(__builtin_convertvector(value, v8i), v8h);
}

/* One box along two rows; `reach` pixels stand before the rows, one more behind them. */
INLINED void along(const uint16_t *a, const uint16_t *b, uint16_t *to_a, uint16_t *to_b, uint64_t count,
                   uint64_t reach, float inverse) {
    v8i sum = {0}, added, dropped;
    const uint16_t *old_a = a - 4 * reach, *old_b = b - 4 * reach;
    for (uint64_t x = 0; x < 2 * reach + 1; x++) {
        two_pixels(old_a + 4 * x, old_b + 4 * x, &added);
        sum += added;
    }
    const uint16_t *new_a = a + 4 * (reach + 1), *new_b = b + 4 * (reach + 1);
    for (uint64_t x = 0; x < count; x++) {
        v8h value = average8(&sum, inverse);
        memcpy(to_a + 4 * x, &value, 8);
        memcpy(to_b + 4 * x, (const char *)&value + 8, 8);
        two_pixels(new_a + 4 * x, new_b + 4 * x, &added);
        two_pixels(old_a + 4 * x, old_b + 4 * x, &dropped);
        sum += added - dropped;
    }
}

/* One row more, one row less; what is behind `kept` gets the new row. */
INLINED void down(const uint16_t *restrict added, const uint16_t *dropped, uint16_t *kept, int32_t *restrict sums,
                  uint16_t *restrict averages, uint64_t count, float inverse) {
    uint64_t x = 0;
    for (; x + 8 <= count; x += 8) {
        v8h plus, minus;
        v8i sum;
        memcpy(&plus, added + x, sizeof plus);
        memcpy(&minus, dropped + x, sizeof minus);
        memcpy(&sum, sums + x, sizeof sum);
        sum += __builtin_convertvector(plus, v8i) - __builtin_convertvector(minus, v8i);
        memcpy(sums + x, &sum, sizeof sum);
        v8h value = average8(&sum, inverse);
        memcpy(averages + x, &value, sizeof value);
        if (kept) memcpy(kept + x, &plus, sizeof plus);
    }
    for (; x < count; x++) {
        sums[x] += (int32_t)added[x] - (int32_t)dropped[x];
        if (kept) kept[x] = added[x];
        float value = (float)sums[x] * inverse + 0.5f;
        averages[x] = (uint16_t)(int32_t)value;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void along_avx2(const uint16_t *a, const uint16_t *b, uint16_t *to_a,
                                                       uint16_t *to_b, uint64_t count, uint64_t reach, float inverse) {
    along(a, b, to_a, to_b, count, reach, inverse);
}
__attribute__((target("avx2"))) static void down_avx2(const uint16_t *added, const uint16_t *dropped, uint16_t *kept,
                                                      int32_t *sums, uint16_t *averages, uint64_t count,
                                                      float inverse) {
    down(added, dropped, kept, sums, averages, count, inverse);
}
#endif

static void box_along(const uint16_t *a, const uint16_t *b, uint16_t *to_a, uint16_t *to_b, uint64_t count,
                      uint64_t reach, float inverse) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        along_avx2(a, b, to_a, to_b, count, reach, inverse);
        return;
    }
#endif
    along(a, b, to_a, to_b, count, reach, inverse);
}

static void box_down(const uint16_t *added, const uint16_t *dropped, uint16_t *kept, int32_t *sums, uint16_t *averages,
                     uint64_t count, float inverse) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        down_avx2(added, dropped, kept, sums, averages, count, inverse);
        return;
    }
#endif
    down(added, dropped, kept, sums, averages, count, inverse);
}

enum { MOST_PASSES = 3 };

/* A box down the columns: rows go in, and come out `reach` rows later. */
typedef struct {
    uint16_t *ring;     /* the last rows that went in */
    int32_t *sums;      /* of each column */
    uint16_t *averages; /* the row that comes out */
    uint64_t fed;
} column_box;

typedef struct {
    column_box boxes[MOST_PASSES];
    int passes;
    uint64_t samples, kept_rows, height, box, reach;
    float inverse;
    uint8_t *target;
    uint64_t target_stride, width, written;
    uint32_t channels, bits, alpha;
} blur;

static void write_row(blur *b, const uint16_t *work) {
    pixel_work_store(work, b->target + b->written * b->target_stride, b->width, b->channels, b->bits, b->alpha);
    b->written++;
}

static void feed(blur *b, int pass, const uint16_t *row) {
    if (pass == b->passes) {
        write_row(b, row);
        return;
    }
    column_box *box = &b->boxes[pass];
    uint64_t index = box->fed++;
    uint16_t *slot = box->ring + index % b->kept_rows * b->samples;
    /* Behind the last row it repeats itself; the ring keeps what it has. */
    uint16_t *kept = index < b->height ? slot : NULL;
    if (index == 0) {
        memcpy(slot, row, b->samples * 2);
        for (uint64_t x = 0; x < b->samples; x++) box->sums[x] = (int32_t)(b->reach + 1) * row[x];
        return;
    }
    if (index <= b->reach) {
        for (uint64_t x = 0; x < b->samples; x++) box->sums[x] += row[x];
        if (index < b->reach) {
            if (kept) memcpy(kept, row, b->samples * 2);
            return;
        }
        box_down(row, row, kept, box->sums, box->averages, b->samples, b->inverse);
    } else {
        /* What leaves the box is the first row until the box is past it. */
        uint64_t old = index < b->box ? 0 : index - b->box;
        box_down(row, box->ring + old % b->kept_rows * b->samples, kept, box->sums, box->averages, b->samples,
                 b->inverse);
    }
    feed(b, pass + 1, box->averages);
}

/* Repeats the edge pixels of a row on both sides. */
static void repeat_edges(uint16_t *row, uint64_t count, uint64_t reach) {
    for (uint64_t x = 1; x <= reach; x++) memcpy(row - 4 * x, row, 8);
    for (uint64_t x = 0; x <= reach; x++) memcpy(row + 4 * (count + x), row + 4 * (count - 1), 8);
}

static int32_t run(blur *b, const uint8_t *source, uint64_t source_stride) {
    uint64_t padded = b->samples + 4 * (2 * b->reach + 1);
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
        for (int pass = 0; pass < b->passes; pass++) {
            for (uint64_t i = 0; i < pair; i++) repeat_edges(buffers[from][i], b->width, b->reach);
            box_along(buffers[from][0], buffers[from][pair - 1], buffers[!from][0], buffers[!from][pair - 1], b->width,
                      b->reach, b->inverse);
            from = !from;
        }
        for (uint64_t i = 0; i < pair; i++) feed(b, 0, buffers[from][i]);
    }
    free(rows);
    for (int pass = 0; pass < b->passes; pass++) {
        const uint16_t *last = b->boxes[pass].ring + (b->height - 1) % b->kept_rows * b->samples;
        for (uint64_t i = 0; i < b->reach; i++) feed(b, pass, last);
    }
    return 0;
}

int32_t pixel_box_blur(const void *source, uint64_t source_stride, void *target, uint64_t target_stride,
                       uint64_t width, uint64_t height, uint32_t channels, uint32_t bits, uint32_t alpha,
                       uint32_t box, uint32_t passes) {
    blur b = {.samples = width * 4,
              .kept_rows = height < box ? height : box,
              .height = height,
              .box = box,
              .reach = (box - 1) / 2,
              .passes = passes < MOST_PASSES ? (int)passes : MOST_PASSES,
              .inverse = 1.0f / (float)box,
              .target = target,
              .target_stride = target_stride,
              .width = width,
              .channels = channels,
              .bits = bits,
              .alpha = alpha};
    int32_t result = 0;
    for (int pass = 0; pass < b.passes; pass++) {
        column_box *column = &b.boxes[pass];
        column->ring = calloc(b.kept_rows, b.samples * sizeof *column->ring);
        column->sums = calloc(b.samples, sizeof *column->sums);
        column->averages = calloc(b.samples, sizeof *column->averages);
        if (!column->ring || !column->sums || !column->averages) result = -1;
    }
    if (result == 0) result = run(&b, source, source_stride);
    for (int pass = 0; pass < b.passes; pass++) {
        free(b.boxes[pass].ring);
        free(b.boxes[pass].sums);
        free(b.boxes[pass].averages);
    }
    return result;
}
