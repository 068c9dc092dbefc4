#include "internal.h"

/*
 * Computes the length of one sequential scan without writing it: counts the symbols of its entropy coder and makes the
 * best Huffman codes for them. Only the zero bytes behind each FF are estimated.
 */

typedef struct table {
    uint64_t count[256];
} table;

typedef struct counts {
    table    dc[2], ac[2];
    uint64_t bits;            /* uncoded bits behind the symbols                                      */
    uint64_t order[DCTSIZE][256]; /* bits of a column, one for each row, in file order */
} counts;

typedef int16_t row8 __attribute__((vector_size(16)));

static void make_order(counts *n) {
    for (int k = 0; k < DCTSIZE2; k++) {
        int row = jpegs_zigzag[k] / DCTSIZE, column = jpegs_zigzag[k] % DCTSIZE;
        for (int bits = 0; bits < 256; bits++) {
            if (bits & 1 << row) n->order[column][bits] |= (uint64_t)1 << k;
        }
    }
}

/* Returns one bit for each number of a block that is not 0, in file order. */
static uint64_t numbers_of(const JCOEF *block, const counts *n) {
    row8 columns = {0};
    for (int v = 0; v < DCTSIZE; v++) {
        row8 row;
        memcpy(&row, block + v * DCTSIZE, sizeof row);
        columns |= (row != 0) & (int16_t)(1 << v);
    }
    uint64_t numbers = 0;
    for (int u = 0; u < DCTSIZE; u++) numbers |= n->order[u][columns[u] & 255];
    return numbers;
}

static int length_of(int value) {
    unsigned magnitude = value < 0 ? 0u - (unsigned)value : (unsigned)value;
    return magnitude == 0 ? 0 : 32 - __builtin_clz(magnitude);
}

/* ITU-T T.81 F.1.2: the difference of the means; then runs of zeros, each with the length of the number behind it. */
static void count_block(const JCOEF *block, int *mean, counts *n, int t) {
    int length = length_of(block[0] - *mean), last = 0;
    *mean = block[0];
    n->dc[t].count[length]++;
    n->bits += (uint64_t)length;
    for (uint64_t left = numbers_of(block, n) & ~(uint64_t)1; left; left &= left - 1) {
        int k = __builtin_ctzll(left), run = k - last - 1;
        last = k;
        n->ac[t].count[0xF0] += (uint64_t)(run >> 4);
        length = length_of(block[jpegs_zigzag[k]]) & 15;
        n->ac[t].count[(run & 15) << 4 | length]++;
        n->bits += (uint64_t)length;
    }
    if (last < DCTSIZE2 - 1) n->ac[t].count[0]++;
}

/* Counts the bits of all symbols of a table and of its own segment: each sum of two counts in Huffman's tree is a bit
   for every symbol below it. ITU-T T.81 K.2 has one more symbol, so that no code consists of ones alone. */
static uint64_t bits_of(const table *t) {
    uint64_t left[257], bits = 0;
    int      kinds = 0;
    for (int i = 0; i < 256; i++) {
        if (t->count[i] > 0) left[kinds++] = t->count[i];
    }
    if (kinds == 0) return 0;
    bits = 8 * (21 + (uint64_t)kinds);
    left[kinds++] = 1;
    for (; kinds > 1; kinds--) {
        int least = 0, next = 1;
        if (left[next] < left[least]) least = 1, next = 0;
        for (int i = 2; i < kinds; i++) {
            if (left[i] < left[least]) {
                next = least;
                least = i;
            } else if (left[i] < left[next]) {
                next = i;
            }
        }
        uint64_t sum = left[least] + left[next];
        bits += sum;
        left[least < next ? least : next] = sum;
        left[least < next ? next : least] = left[kinds - 1];
    }
    return bits;
}

/* As in the library: chroma has its own tables. */
static int table_of(const jpegs_decoder *d, int component) {
    switch (d->c.jpeg_color_space) {
    case JCS_YCbCr: return component > 0;
    case JCS_YCCK:  return component == 1 || component == 2;
    default:        return 0;
    }
}

/* Counts the blocks of a component in one MCU; those beyond the image repeat the mean before them. */
static void count_unit(jpegs_decoder *d, counts *n, int component, const plane *p, JDIMENSION column, JDIMENSION row,
                       int *mean) {
    int t = table_of(d, component);
    for (JDIMENSION y = row; y < row + (JDIMENSION)p->down; y++) {
        for (JDIMENSION x = column; x < column + (JDIMENSION)p->across; x++) {
            if (x < p->blocks_across && y < p->blocks_down) {
                count_block(jpegs_array_row(d->turned.arrays[component], y)[x], mean, n, t);
            } else {
                n->dc[t].count[0]++;
                n->ac[t].count[0]++;
            }
        }
    }
}

int32_t jpegs_decoder_measure(jpegs_decoder *d, uint64_t *bytes) {
    plane   planes[MAX_COMPONENTS];
    int     means[MAX_COMPONENTS] = {0};
    int     interleaves = jpegs_interleaves(d, jpegs_planes(d, planes));
    counts *n = calloc(1, sizeof *n);
    if (!n) return JPEGS_NO_MEMORY;
    make_order(n);
    for (int i = 0; i < d->components && !interleaves; i++) planes[i].across = planes[i].down = 1;
    for (int first = 0; first < d->components; first += interleaves ? d->components : 1) {
        const plane *p = &planes[first];
        JDIMENSION   across = (p->blocks_across + (JDIMENSION)p->across - 1) / (JDIMENSION)p->across;
        JDIMENSION   down = (p->blocks_down + (JDIMENSION)p->down - 1) / (JDIMENSION)p->down;
        int          end = interleaves ? d->components : first + 1;
        for (JDIMENSION y = 0; y < down; y++) {
            if (d->watch.poll(d->watch.context) != 0) {
                free(n);
                return JPEGS_STOPPED;
            }
            for (JDIMENSION x = 0; x < across; x++) {
                for (int i = first; i < end; i++) {
                    JDIMENSION column = x * (JDIMENSION)planes[i].across, row = y * (JDIMENSION)planes[i].down;
                    count_unit(d, n, i, &planes[i], column, row, &means[i]);
                }
            }
        }
    }
    uint64_t bits = n->bits;
    for (int i = 0; i < 2; i++) bits += bits_of(&n->dc[i]) + bits_of(&n->ac[i]);
    /* Of random bytes one in 256 is FF; a few less if the codes are not optimal. */
    *bytes = bits / 8 + bits / 8 / 320;
    free(n);
    return JPEGS_OK;
}
