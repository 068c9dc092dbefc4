#define _GNU_SOURCE
#include "session.h"
#include "worker_exit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    const uint8_t *memory; /* NULL: a reader, or none */
    size_t         mapped;
    uint64_t       capacity;
    uint64_t       available;
    int            complete;
    int            descriptor; /* a reader's; -1: none */
} input = {.descriptor = -1};

static uint64_t available(void *ctx) {
    (void)ctx;
    return input.available;
}

static int32_t complete(void *ctx) {
    (void)ctx;
    return input.complete;
}

static char ending[sizeof((iso_open *)0)->ending];

static cpi_status read_at(void *ctx, uint64_t offset, uint8_t *buffer, uint64_t count, uint64_t *copied) {
    (void)ctx;
    uint64_t part = 0;
    if (offset < input.available) {
        part = count < input.available - offset ? count : input.available - offset;
    }
    if (part > 0 && input.descriptor >= 0) {
        /* If the file has become shorter, return fewer bytes and continue. */
        ssize_t got = pread(input.descriptor, buffer, part, (off_t)offset);
        *copied = got > 0 ? (uint64_t)got : 0;
        return got < 0 ? CPI_IO : CPI_OK;
    }
    if (part > 0) {
        memcpy(buffer, input.memory + offset, part);
    }
    *copied = part;
    return part < count && !input.complete ? CPI_NEED_INPUT : CPI_OK;
}

void source_update(const iso_input *given) {
    if (given->complete > 1 || (input.mapped > 0 && given->available > input.capacity)) {
        wire_malformed();
    }
    /* Available bytes never decrease. */
    if (given->available > input.available) {
        input.available = given->available;
    }
    input.complete |= given->complete != 0;
}

void source_open(const iso_open *open, int descriptor) {
    static const uint8_t nothing[1] = {0};
    int is_reader = open->source_kind == CPI_SOURCE_READER;
    if (!is_reader && open->source_kind != CPI_SOURCE_MEMORY && open->source_kind != CPI_SOURCE_GROWING) {
        wire_malformed();
    }
    if (is_reader) {
        input.descriptor = descriptor;
    } else {
        struct stat status;
        if (fstat(descriptor, &status) != 0 || open->capacity > (uint64_t)status.st_size ||
            open->input.available > open->capacity) {
            wire_malformed();
        }
        input.capacity = open->capacity;
        input.memory = nothing;
        if (open->capacity > 0) {
            /* Map all pages at once, unless most bytes have not arrived yet. */
            int populate = open->source_kind == CPI_SOURCE_MEMORY ? MAP_POPULATE : 0;
            void *memory = mmap(NULL, open->capacity, PROT_READ, MAP_SHARED | populate, descriptor, 0);
            if (memory == MAP_FAILED) {
                worker_exit(EXIT_RESOURCES);
            }
            input.memory = memory;
            input.mapped = open->capacity;
        }
        close(descriptor);
    }
    source_update(&open->input);
    memcpy(ending, open->ending, sizeof ending - 1);
    current.source = (cpi_source){.size = sizeof current.source,
                                  .kind = open->source_kind,
                                  .length = input.complete ? input.available : CPI_LENGTH_UNKNOWN,
                                  .bytes = input.memory,
                                  .ctx = &current,
                                  .available = available,
                                  .complete = complete,
                                  .read_at = read_at,
                                  .ending = ending[0] ? ending : NULL};
}

void source_close(void) {
    if (input.mapped > 0) {
        munmap((void *)input.memory, input.mapped);
    }
    if (input.descriptor >= 0) {
        close(input.descriptor);
    }
    memset(&input, 0, sizeof input);
    input.descriptor = -1;
}
