#include "internal.h"

#include <pthread.h>
#include <sys/mman.h>

/*
 * The memory for the coefficients of an image of several scans.
 *
 * The library asks its memory manager for "virtual arrays", which it could swap out to a file but allocates with
 * malloc in pieces. Here each is one block: already zero, so that it is not cleared again, and of huge pages if
 * it is large, because first access to small pages takes a tenth of a decode. Blocks are kept for the next
 * image: clearing them costs a quarter of the time that the kernel needs for new ones. While they are unused, the
 * kernel may reclaim their pages.
 */

/* The library declares only the name of this struct. */
struct jvirt_barray_control {
    struct jvirt_barray_control *next;
    JDIMENSION                   blocks, rows, access;
    size_t                       bytes; /* 0: the memory belongs to another array */
    void                        *memory;
    JBLOCKROW                    row[]; /* one pointer for each row of blocks */
};

#define HUGE_PAGE ((size_t)2 << 20)

/* Makes an array without memory; NULL if there is no memory for its rows. */
static jvirt_barray_ptr add(jpegs_decoder *d, JDIMENSION blocks, JDIMENSION rows, JDIMENSION access) {
    jvirt_barray_ptr array = calloc(1, sizeof *array + (size_t)rows * sizeof array->row[0]);
    if (!array) return NULL;
    array->next = d->arrays;
    d->arrays = array;
    array->blocks = blocks;
    array->rows = rows;
    array->access = access;
    return array;
}

static jvirt_barray_ptr request(j_common_ptr c, int pool, boolean zero, JDIMENSION blocks, JDIMENSION rows,
                                JDIMENSION access) {
    (void)pool, (void)zero; /* always permanent and zeroed */
    jvirt_barray_ptr array = add(c->client_data, blocks, rows, access);
    if (!array) ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
    return array;
}

/* The size for an image of 12 megapixels and three components. */
#define KEPT_BYTES ((size_t)40 << 20)
#define KEPT_COUNT 4

typedef struct block {
    void  *memory;
    size_t bytes;
} block;

static struct {
    pthread_mutex_t lock;
    block           blocks[KEPT_COUNT];
    size_t          bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Removes a block from the kept ones. */
static block pull(int place) {
    block b = kept.blocks[place];
    kept.blocks[place] = (block){0};
    kept.bytes -= b.bytes;
    return b;
}

/* Returns a zeroed kept block that is large enough but not twice too large; empty if there is none. Then frees the kept
   blocks, so that they do not add to the new allocation. */
static block take(size_t bytes) {
    block found = {0};
    int best = -1;
    pthread_mutex_lock(&kept.lock);
    for (int i = 0; i < KEPT_COUNT; i++) {
        const block *b = &kept.blocks[i];
        if (!b->memory || b->bytes < bytes || b->bytes / 2 > bytes) continue;
        if (best < 0 || b->bytes < kept.blocks[best].bytes) best = i;
    }
    if (best >= 0) found = pull(best);
    for (int i = 0; i < KEPT_COUNT && best < 0 && bytes >= HUGE_PAGE; i++) {
        block b = pull(i);
        if (b.memory) munmap(b.memory, b.bytes);
    }
    pthread_mutex_unlock(&kept.lock);
    if (found.memory) memset(found.memory, 0, bytes);
    return found;
}

static void give(block b) {
    int place = -1;
    if (b.bytes >= HUGE_PAGE && b.bytes <= KEPT_BYTES) {
        (void)madvise(b.memory, b.bytes, MADV_FREE);
        pthread_mutex_lock(&kept.lock);
        for (int i = 0; i < KEPT_COUNT && kept.bytes <= KEPT_BYTES - b.bytes; i++) {
            if (kept.blocks[i].memory) continue;
            place = i;
            kept.blocks[i] = b;
            kept.bytes += b.bytes;
            break;
        }
        pthread_mutex_unlock(&kept.lock);
    }
    if (place < 0) munmap(b.memory, b.bytes);
}

static void *fresh(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    /* Only advice: without huge pages the pages are small. */
    if (bytes >= 2 * HUGE_PAGE) (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

/* Gives an array memory for its first `down` rows; the remaining rows repeat the last of them. 0 without memory. */
static int fill(jvirt_barray_ptr array, JDIMENSION down) {
    size_t row = (size_t)array->blocks * sizeof(JBLOCK); /* sides are 16 bits, so nothing overflows */
    block b = take(row * down);
    if (!b.memory) b = (block){fresh(row * down), row * down};
    if (!b.memory) return 0;
    array->memory = b.memory;
    array->bytes = b.bytes;
    for (JDIMENSION y = 0; y < array->rows; y++) {
        array->row[y] = (JBLOCKROW)((char *)array->memory + row * (y < down ? y : down - 1));
    }
    return 1;
}

static void realize(j_common_ptr c) {
    jpegs_decoder *d = c->client_data;
    for (jvirt_barray_ptr array = d->arrays; array; array = array->next) {
        if (array->memory || array->rows == 0) continue;
        if (!fill(array, array->rows)) ERREXIT1(c, JERR_OUT_OF_MEMORY, 1);
    }
    d->realize(c);
}

static JBLOCKARRAY access_rows(j_common_ptr c, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION count,
                               boolean writable) {
    (void)writable;
    if (!array->memory || count > array->access || first > array->rows || count > array->rows - first) {
        ERREXIT(c, JERR_BAD_VIRTUAL_ACCESS);
    }
    return array->row + first;
}

void jpegs_arrays_install(jpegs_decoder *d) {
    d->realize = d->c.mem->realize_virt_arrays;
    d->c.mem->request_virt_barray = request;
    d->c.mem->realize_virt_arrays = realize;
    d->c.mem->access_virt_barray = access_rows;
}

void jpegs_arrays_share(j_common_ptr c) { c->mem->access_virt_barray = access_rows; }

/* The compressor requests whole rows of MCUs, but reads only the rows that a component has. */
#define SPARE_ROWS MAX_SAMP_FACTOR

jvirt_barray_ptr jpegs_array_new(jpegs_decoder *d, JDIMENSION across, JDIMENSION down) {
    jvirt_barray_ptr array = add(d, across, down + SPARE_ROWS, down + SPARE_ROWS);
    return array && fill(array, down) ? array : NULL;
}

jvirt_barray_ptr jpegs_array_part(jpegs_decoder *d, jvirt_barray_ptr whole, JDIMENSION column, JDIMENSION row,
                                  JDIMENSION down, int flipped) {
    jvirt_barray_ptr part = add(d, whole->blocks - column, down + SPARE_ROWS, down + SPARE_ROWS);
    if (!part) return NULL;
    part->memory = whole->memory;
    for (JDIMENSION y = 0; y < part->rows; y++) {
        JDIMENSION nearest = y < down ? y : down - 1;
        part->row[y] = whole->row[row + (flipped ? down - 1 - nearest : nearest)] + column;
    }
    return part;
}

JBLOCKROW jpegs_array_row(jvirt_barray_ptr array, JDIMENSION row) { return array->row[row]; }

void jpegs_array_release(jvirt_barray_ptr array) {
    if (array->bytes > 0) give((block){array->memory, array->bytes});
    array->memory = NULL;
    array->bytes = array->rows = 0;
}

void jpegs_arrays_free(jpegs_decoder *d) {
    while (d->arrays) {
        jvirt_barray_ptr next = d->arrays->next;
        jpegs_array_release(d->arrays);
        free(d->arrays);
        d->arrays = next;
    }
}
