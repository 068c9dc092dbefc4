/* webp_reduce.c - see internal.h. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mremap */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rows of bytes whose sum fits 16 bits. */
#define MOST_ROWS  257u
/* A product with a byte fits 64 bits. */
#define SHARE_BITS 55

/* One plane of the source, and the state of its reduction. A new sample covers height / new_height rows, and width /
   new_width columns. Both fractions are reduced, so the weight of a row or column is an integer: down_whole for one
   that is inside, less for one that two new samples share. */
typedef struct plane {
    uint8_t  *samples;
    size_t    stride, bytes; /* whole pages */
    size_t    released;      /* bytes whose pages are recycled */
    uint32_t  width, height, new_width, new_height;
    uint32_t  down_total, down_whole, across_total, across_whole;
    uint64_t  share; /* the reciprocal of the total weight of a sample, in 2^-SHARE_BITS */
    uint32_t  row, done;  /* the next row of the source, the number of complete new rows */
    uint32_t  place;      /* the weight of the rows above `row` in the new row */
    uint32_t  pending;    /* rows in `words` */
    uint16_t *words;      /* sums of whole rows */
    uint32_t *sums;       /* weighted sums of rows */
    uint8_t  *out;        /* the latest new row */
} plane;

struct webps_reducer {
    plane    planes[3];
    void    *memory;
    size_t   bytes;
    uint8_t *pixels;
    size_t   stride;
    uint32_t width, height, format, rows;
};

static uint32_t divisor_of(uint32_t a, uint32_t b) {
    while (b > 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int plan(plane *p, uint32_t width, uint32_t height, uint32_t new_width, uint32_t new_height) {
    uint32_t down = divisor_of(height, new_height), across = divisor_of(width, new_width);
    p->width = width;
    p->height = height;
    p->new_width = new_width;
    p->new_height = new_height;
    p->stride = ((size_t)width + 31) & ~(size_t)31;
    p->down_total = height / down;
    p->down_whole = new_height / down;
    p->across_total = width / across;
    p->across_whole = new_width / across;
    const uint64_t weight = (uint64_t)p->down_total * p->across_total;
    p->share = ((UINT64_C(1) << SHARE_BITS) + weight / 2) / weight;
    p->words = calloc(width, sizeof *p->words);
    p->sums = calloc(width, sizeof *p->sums);
    p->out = malloc(new_width);
    return p->words && p->sums && p->out;
}

webps_reducer *webps_reducer_new(const webps_reduction *wanted) {
    uint32_t width = wanted->source_width, height = wanted->source_height;
    if (wanted->width == 0 || wanted->height == 0 || width < 2 * wanted->width - 1 || height < 2 * wanted->height - 1) {
        return NULL;
    }
    webps_reducer *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (webps_reducer){.pixels = wanted->pixels, .stride = wanted->stride, .width = wanted->width,
                         .height = wanted->height, .format = wanted->format};
    int done = plan(&r->planes[0], width, height, wanted->width, wanted->height);
    for (int i = 1; i < 3; i++) {
        done &= plan(&r->planes[i], (width + 1) / 2, (height + 1) / 2, wanted->width, wanted->height);
    }
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 3; i++) {
        plane *p = &r->planes[i];
        p->bytes = (p->stride * p->height + page - 1) & ~(page - 1);
        r->bytes += p->bytes;
    }
    /* Only pages that the library has written take memory; see recycle. */
    r->memory = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!done || r->memory == MAP_FAILED) {
        webps_reducer_free(r);
        return NULL;
    }
    uint8_t *next = r->memory;
    for (int i = 0; i < 3; i++) {
        r->planes[i].samples = next;
        next += r->planes[i].bytes;
    }
    return r;
}

void webps_reducer_free(webps_reducer *r) {
    if (!r) return;
    for (int i = 0; i < 3; i++) {
        free(r->planes[i].words);
        free(r->planes[i].sums);
        free(r->planes[i].out);
    }
    if (r->memory && r->memory != MAP_FAILED) munmap(r->memory, r->bytes);
    free(r);
}

void webps_reducer_lend(const webps_reducer *r, WebPYUVABuffer *buffer) {
    const plane *p = r->planes;
    *buffer = (WebPYUVABuffer){
        .y = p[0].samples, .u = p[1].samples, .v = p[2].samples,
        .y_stride = (int)p[0].stride, .u_stride = (int)p[1].stride, .v_stride = (int)p[2].stride,
        .y_size = p[0].stride * p[0].height, .u_size = p[1].stride * p[1].height,
        .v_size = p[2].stride * p[2].height};
}

/* ---- sums ---- */

/* Defines `name` from the inline function `name_body`, also with wider instructions, which run if the processor has
   them. */
#define INLINE static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define WIDEST(name, parameters, arguments)                                                       \
    static __attribute__((target("avx2"))) void name##_avx2 parameters { name##_body arguments; } \
    static void name parameters {                                                                 \
        if (__builtin_cpu_supports("avx2")) name##_avx2 arguments;                                \
        else name##_body arguments;                                                               \
    }
#else
#define WIDEST(name, parameters, arguments) \
    static void name parameters { name##_body arguments; }
#endif

INLINE void add_whole_body(uint16_t *restrict words, const uint8_t *restrict row, uint32_t count) {
    for (uint32_t x = 0; x < count; x++) words[x] = (uint16_t)(words[x] + row[x]);
}
WIDEST(add_whole, (uint16_t *restrict words, const uint8_t *restrict row, uint32_t count), (words, row, count))

INLINE void add_part_body(uint32_t *restrict sums, const uint8_t *restrict row, uint32_t weight, uint32_t count) {
    for (uint32_t x = 0; x < count; x++) sums[x] += weight * row[x];
}
WIDEST(add_part, (uint32_t *restrict sums, const uint8_t *restrict row, uint32_t weight, uint32_t count),
    (sums, row, weight, count))

INLINE void add_words_body(uint32_t *restrict sums, uint16_t *restrict words, uint32_t weight, uint32_t count) {
    for (uint32_t x = 0; x < count; x++) {
        sums[x] += weight * words[x];
        words[x] = 0;
    }
}
WIDEST(add_words, (uint32_t *restrict sums, uint16_t *restrict words, uint32_t weight, uint32_t count),
    (sums, words, weight, count))

static void collect(plane *p) {
    if (p->pending > 0) add_words(p->sums, p->words, p->down_whole, p->width);
    p->pending = 0;
}

/* Makes the new row from the sums of its rows, rounded to nearest. */
static void finish(plane *p) {
    const uint32_t *sums = p->sums;
    const uint64_t  share = p->share;
    const uint32_t  whole = p->across_whole, total = p->across_total;
    uint32_t        first = 0, shared = 0; /* the weight in this sample of the column before `sums`, and its sum */
    for (uint32_t i = 0; i < p->new_width; i++) {
        uint32_t left = total - first;
        uint64_t columns = 0, sum = (uint64_t)first * shared;
        for (; left >= whole; left -= whole) columns += *sums++;
        sum += whole * columns;
        first = 0;
        if (left > 0) {
            shared = *sums++;
            sum += (uint64_t)left * shared;
            first = whole - left;
        }
        p->out[i] = (uint8_t)((sum * share + (UINT64_C(1) << (SHARE_BITS - 1))) >> SHARE_BITS);
    }
    memset(p->sums, 0, p->width * sizeof *p->sums);
    p->done++;
}

/* Adds rows below `end` until a new row is complete; 0 if more rows are needed. */
static int reduce(plane *p, uint32_t end) {
    const uint32_t whole = p->down_whole, total = p->down_total;
    while (p->row < end) {
        const uint8_t *row = p->samples + p->stride * p->row++;
        uint32_t       left = total - p->place;
        if (left >= whole) {
            add_whole(p->words, row, p->width);
            p->place += whole;
            if (++p->pending == MOST_ROWS) collect(p);
            if (left > whole) continue;
            collect(p);
            finish(p);
            p->place = 0;
        } else {
            collect(p);
            add_part(p->sums, row, left, p->width);
            finish(p);
            add_part(p->sums, row, whole - left, p->width);
            p->place = whole - left;
        }
        return 1;
    }
    return 0;
}

/* ---- colors ---- */

/* Studio range to full range, in 1/64: (a * b) >> 8 with a factor in 1/16384. */
static inline int times(int sample, int factor) { return (sample * factor) >> 8; }

static inline uint8_t clipped(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 * 64 + 63 ? 255 : value >> 6); }

/* ITU-R BT.601 with the constants of the library's own conversion, so both give the same colors. */
static void color(const webps_reducer *r, uint8_t *target) {
    const uint8_t *ys = r->planes[0].out, *us = r->planes[1].out, *vs = r->planes[2].out;
    const int      red = r->format == WEBPS_BGRA || r->format == WEBPS_BGRA_PREMULTIPLIED ? 2 : 0;
    const uint32_t step = r->format == WEBPS_RGB ? 3 : 4;
    for (uint32_t x = 0; x < r->width; x++, target += step) {
        const int y = times(ys[x], 19077), u = us[x], v = vs[x];
        target[red] = clipped(y + times(v, 26149) - 14234);
        target[1] = clipped(y - times(u, 6419) - times(v, 13320) + 8708);
        target[2 - red] = clipped(y + times(u, 33050) - 17685);
        if (step == 4) target[3] = 255;
    }
}

/* Moves the pages above `row` behind the written rows, because a fresh page costs more than the reduction of its
   samples; returns the rest to the kernel. So memory holds only the rows between two calls. */
static void recycle(plane *p, uint32_t written, uintptr_t page) {
    const uintptr_t start = (uintptr_t)p->samples;
    const uintptr_t from = start + p->released, to = (start + p->stride * p->row) & ~(page - 1);
    const uintptr_t next = (start + p->stride * written + page - 1) & ~(page - 1), end = start + p->bytes;
    if (to <= from) return;
    size_t moved = to - from;
    if (next + moved > end) moved = next < end ? end - next : 0;
#if defined(MREMAP_DONTUNMAP)
    if (moved > 0 && mremap((void *)from, moved, moved, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
                            (void *)next) == MAP_FAILED) {
        moved = 0;
    }
#else
    moved = 0;
#endif
    if (moved < to - from) (void)madvise((void *)(from + moved), to - from - moved, MADV_DONTNEED);
    p->released = to - start;
}

int webps_reducer_take(webps_reducer *r, uint32_t rows, uint32_t *done) {
    plane         *p = r->planes;
    const uint32_t chroma = rows >= p->height ? p[1].height : rows / 2;
    for (; r->rows < r->height; r->rows++) {
        for (int i = 0; i < 3; i++) {
            if (p[i].done <= r->rows && !reduce(&p[i], i == 0 ? rows : chroma)) goto out;
        }
        color(r, r->pixels + r->stride * r->rows);
    }
out:
    for (int i = 0; i < 3; i++) recycle(&p[i], i == 0 ? rows : chroma, (uintptr_t)sysconf(_SC_PAGESIZE));
    *done = r->rows;
    return r->rows == r->height;
}
