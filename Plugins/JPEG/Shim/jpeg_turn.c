#include "internal.h"

/*
 * Crops and rotates an image without decoding it.
 *
 * A coefficient is the amplitude of a wave of `u` half periods across a block and `v` down. Reversing the columns of a
 * block changes the sign of waves that are odd across, u = 1, 3, 5, 7; reversing its rows that of waves odd down.
 * Exchanging columns and rows exchanges u and v. No value is rounded, so there is no loss.
 *
 * Blocks move with their samples. Only the last column and the last row of blocks may have samples outside of the
 * image, so the kept part must begin at a block edge on the sides where the result begins.
 */

typedef int16_t row8 __attribute__((vector_size(16)));

/* The factors of the rows of a block: 0 keeps and -1 negates, as x ^ s - s. */
typedef struct signs {
    row8 row[DCTSIZE];
} signs;

static signs signs_of(int mirrored, int flipped) {
    signs s;
    for (int v = 0; v < DCTSIZE; v++) {
        for (int u = 0; u < DCTSIZE; u++) s.row[v][u] = (int16_t)-((mirrored & u) ^ (flipped & v));
    }
    return s;
}

static inline row8 load(const JCOEF *block, int v) {
    row8 row;
    memcpy(&row, block + v * DCTSIZE, sizeof row);
    return row;
}

static inline void store(JCOEF *block, int v, row8 row) { memcpy(block + v * DCTSIZE, &row, sizeof row); }

static inline row8 negate(row8 row, row8 sign) { return (row ^ sign) - sign; }

static void change(JCOEF *block, const signs *s) {
    for (int v = 0; v < DCTSIZE; v++) store(block, v, negate(load(block, v), s->row[v]));
}

static void exchange(JCOEF *a, JCOEF *b, const signs *s) {
    for (int v = 0; v < DCTSIZE; v++) {
        row8 first = load(a, v);
        store(a, v, negate(load(b, v), s->row[v]));
        store(b, v, negate(first, s->row[v]));
    }
}

#define MIX(a, b, c0, c1, c2, c3, c4, c5, c6, c7) __builtin_shufflevector(a, b, c0, c1, c2, c3, c4, c5, c6, c7)

/* Writes `from` with rows and columns exchanged, after its signs were changed. */
static void transpose(const JCOEF *from, JCOEF *to, const signs *s) {
    row8 a[8], b[8];
    for (int v = 0; v < 8; v++) a[v] = negate(load(from, v), s->row[v]);
    for (int i = 0; i < 8; i += 2) { /* pairs of rows: 2 x 2 of single numbers */
        b[i] = MIX(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[i + 1] = MIX(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += i % 4 == 1 ? 3 : 1) { /* rows i and i + 2: 2 x 2 of pairs */
        a[i] = MIX(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        a[i + 2] = MIX(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) { /* rows i and i + 4: 2 x 2 of fours */
        store(to, i, MIX(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        store(to, i + 4, MIX(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}

/* The kept blocks of a component. */
typedef struct part {
    JDIMENSION column, row, across, down;
} part;

/* Converts `count` samples of the image that end at `end`, or begin at `start`, to blocks. */
static void blocks_of(uint32_t start, uint32_t count, int reversed, int factor, int largest, JDIMENSION *first,
                      JDIMENSION *number) {
    uint64_t unit = (uint64_t)largest * DCTSIZE;
    *number = (JDIMENSION)(((uint64_t)count * (uint64_t)factor + unit - 1) / unit);
    if (reversed) {
        *first = (JDIMENSION)(((uint64_t)start + count) * (uint64_t)factor / unit) - *number;
    } else {
        *first = (JDIMENSION)((uint64_t)start * (uint64_t)factor / unit);
    }
}

/* Blocks of one tile of a transposition in each direction: its rows stay in the first-level cache. */
#define TILE 8

static int32_t transpose_all(jpegs_decoder *d, jvirt_barray_ptr from, jvirt_barray_ptr to, const part *p,
                             const jpegs_cut *cut, const signs *s) {
    for (JDIMENSION top = 0; top < p->across; top += TILE) {
        if (d->watch.poll(d->watch.context) != 0) return JPEGS_STOPPED;
        JDIMENSION bottom = top + TILE < p->across ? top + TILE : p->across;
        for (JDIMENSION x = 0; x < p->down; x++) {
            JBLOCKROW source = jpegs_array_row(from, p->row + (cut->flipped ? p->down - 1 - x : x)) + p->column;
            for (JDIMENSION y = top; y < bottom; y++) {
                transpose(source[cut->mirrored ? p->across - 1 - y : y], jpegs_array_row(to, y)[x], s);
            }
        }
    }
    return JPEGS_OK;
}

/* Changes the blocks in place; readers of the array apply the order of rows. */
static int32_t turn_in_place(jpegs_decoder *d, jvirt_barray_ptr array, const part *p, const jpegs_cut *cut,
                             const signs *s) {
    for (JDIMENSION y = 0; y < p->down; y++) {
        if (d->watch.poll(d->watch.context) != 0) return JPEGS_STOPPED;
        JBLOCKROW row = jpegs_array_row(array, p->row + y) + p->column;
        if (!cut->mirrored) {
            for (JDIMENSION x = 0; x < p->across; x++) change(row[x], s);
            continue;
        }
        JDIMENSION left = 0, right = p->across - 1;
        for (; left < right; left++, right--) exchange(row[left], row[right], s);
        if (left == right) change(row[left], s);
    }
    return JPEGS_OK;
}

int32_t jpegs_decoder_turn(jpegs_decoder *d, const jpegs_cut *cut) {
    GUARD(d);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&d->c);
    signs             s = signs_of(cut->mirrored != 0, cut->flipped != 0);
    for (int i = 0; i < d->components; i++) {
        const jpeg_component_info *c = &d->c.comp_info[i];
        part                       p;
        int32_t                    status = JPEGS_OK;
        blocks_of(cut->x, cut->width, cut->mirrored != 0, c->h_samp_factor, d->c.max_h_samp_factor, &p.column,
                  &p.across);
        blocks_of(cut->y, cut->height, cut->flipped != 0, c->v_samp_factor, d->c.max_v_samp_factor, &p.row, &p.down);
        /* The caller crops inside the image; this is the last check of that. */
        if (p.across == 0 || p.down == 0 || p.column > c->width_in_blocks || p.row > c->height_in_blocks ||
            p.across > c->width_in_blocks - p.column || p.down > c->height_in_blocks - p.row) {
            return JPEGS_CORRUPT;
        }
        if (cut->transposed) {
            d->turned.arrays[i] = jpegs_array_new(d, p.down, p.across);
            if (!d->turned.arrays[i]) return JPEGS_NO_MEMORY;
            status = transpose_all(d, arrays[i], d->turned.arrays[i], &p, cut, &s);
            jpegs_array_release(arrays[i]);
        } else {
            d->turned.arrays[i] = jpegs_array_part(d, arrays[i], p.column, p.row, p.down, cut->flipped != 0);
            if (!d->turned.arrays[i]) return JPEGS_NO_MEMORY;
            if (cut->mirrored || cut->flipped) status = turn_in_place(d, arrays[i], &p, cut, &s);
        }
        if (status != JPEGS_OK) return status;
    }
    d->turned.width = cut->transposed ? cut->height : cut->width;
    d->turned.height = cut->transposed ? cut->width : cut->height;
    d->turned.transposed = cut->transposed != 0;
    return JPEGS_OK;
}
