#include "internal.h"

#include <sys/mman.h>

/*
 * Where the coefficients of a picture of several scans are kept.
 *
 * The library asks its memory manager for "virtual arrays", which it could swap out to a file and in truth takes from
 * malloc in pieces. Here each is one block: already zero, so that it is not written once more, and of huge pages where
 * it is large, because touching the small ones for the first time is a tenth of a decode.
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

static void *zeroed(size_t bytes) {
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
        array->bytes = row * array->rows;
        array->memory = zeroed(array->bytes);
        if (!array->memory) ERREXIT1(c, JERR_OUT_OF_MEMORY, 1);
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
        if (d->arrays->memory) munmap(d->arrays->memory, d->arrays->bytes);
        free(d->arrays);
        d->arrays = next;
    }
}
