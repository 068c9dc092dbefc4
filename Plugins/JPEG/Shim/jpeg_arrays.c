#include "internal.h"

#include <pthread.h>
#include <sys/mman.h>

/*
 * Where the coefficients of a picture of several scans are kept.
 *
 * The library asks its memory manager for "virtual arrays", which it could swap out to a file and in truth takes from
 * malloc in pieces. Here each is one block: already zero, so that it is not written once more, and of huge pages where
 * it is large, because touching the small ones for the first time is a tenth of a decode. Blocks are kept for the next
 * picture: writing zeros over them costs a quarter of what the kernel takes for fresh ones. While nobody uses them the
 * kernel may have their pages back.
 */

/* The library knows only the name of this. */
struct jvirt_barray_control {
    struct jvirt_barray_control *next;
    JDIMENSION                   blocks, rows, access;
    size_t                       bytes;
    void                        *memory;
    JBLOCKROW                    row[]; /* one pointer for each row of blocks */
};

#define HUGE_PAGE ((size_t)2 << 20)

static jvirt_barray_ptr request(j_common_ptr c, int pool, boolean zero, JDIMENSION blocks, JDIMENSION rows,
                                JDIMENSION access) {
    (void)pool, (void)zero; /* for good, and always */
    jpegs_decoder *d = c->client_data;
    jvirt_barray_ptr array = calloc(1, sizeof *array + (size_t)rows * sizeof array->row[0]);
    if (!array) ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
    array->next = d->arrays;
    d->arrays = array;
    array->blocks = blocks;
    array->rows = rows;
    array->access = access;
    return array;
}

/* A picture of 12 megapixels and three components. */
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

/* Takes a block out of those that are kept. */
static block pull(int place) {
    block b = kept.blocks[place];
    kept.blocks[place] = (block){0};
    kept.bytes -= b.bytes;
    return b;
}

/* A kept block that is large enough and not twice too large, with zeros in it; nothing where there is none. Those that
   do not fit then go, lest they stand beside what is taken instead. */
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
    /* Only advice: where it is not taken the pages are small ones. */
    if (bytes >= 2 * HUGE_PAGE) (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void realize(j_common_ptr c) {
    jpegs_decoder *d = c->client_data;
    for (jvirt_barray_ptr array = d->arrays; array; array = array->next) {
        if (array->memory || array->rows == 0) continue;
        size_t row = (size_t)array->blocks * sizeof(JBLOCK); /* sides are 16 bits, so nothing overflows */
        block b = take(row * array->rows);
        if (!b.memory) b = (block){fresh(row * array->rows), row * array->rows};
        if (!b.memory) ERREXIT1(c, JERR_OUT_OF_MEMORY, 1);
        array->memory = b.memory;
        array->bytes = b.bytes;
        for (JDIMENSION y = 0; y < array->rows; y++) array->row[y] = (JBLOCKROW)((char *)array->memory + row * y);
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

void jpegs_arrays_share(j_decompress_ptr c) { c->mem->access_virt_barray = access_rows; }

void jpegs_arrays_free(jpegs_decoder *d) {
    while (d->arrays) {
        jvirt_barray_ptr next = d->arrays->next;
        if (d->arrays->memory) give((block){d->arrays->memory, d->arrays->bytes});
        free(d->arrays);
        d->arrays = next;
    }
}
