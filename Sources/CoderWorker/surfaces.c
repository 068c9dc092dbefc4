#define _GNU_SOURCE
#include "session.h"
#include "worker_exit.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Mappings kept for reuse, because mapping an image costs about as much as decoding it. */
#define KEPT 4
static struct {
    uint64_t id;
    uint64_t bytes;
    uint8_t *memory; /* NULL: free */
    uint64_t used;   /* the time of the last use, counted in uses */
} kept[KEPT];
static uint64_t uses;

static uint64_t bytes_per_pixel(cpi_pixel_format format) {
    static const uint8_t channels[] = {[CPI_CHANNELS_GRAY] = 1, [CPI_CHANNELS_GRAY_ALPHA] = 2, [CPI_CHANNELS_RGB] = 3,
                                       [CPI_CHANNELS_RGBA] = 4, [CPI_CHANNELS_BGRA] = 4,       [CPI_CHANNELS_CMYK] = 4};
    if (format.channels < CPI_CHANNELS_GRAY || format.channels > CPI_CHANNELS_CMYK ||
        (format.bits != 8 && format.bits != 16 && format.bits != 32)) {
        wire_malformed();
    }
    return (uint64_t)channels[format.channels] * format.bits / 8;
}

/* Checked because a plugin writes at the place given by these numbers. */
static void check(const iso_surface *wanted) {
    uint64_t row = wanted->width * bytes_per_pixel(wanted->format);
    uint64_t rows;
    uint64_t end;
    if (wanted->offset > wanted->map_bytes || wanted->byte_count > wanted->map_bytes - wanted->offset) {
        wire_malformed();
    }
    if (wanted->width == 0 || wanted->height == 0) {
        return;
    }
    if (wanted->stride < row || __builtin_mul_overflow(wanted->stride, (uint64_t)wanted->height - 1, &rows) ||
        __builtin_add_overflow(rows, row, &end) || end > wanted->byte_count) {
        wire_malformed();
    }
}

static uint8_t *map(wire_message *message, const iso_surface *wanted) {
    int place = 0;
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].memory && kept[i].id == wanted->id) {
            if (kept[i].bytes != wanted->map_bytes) {
                wire_malformed();
            }
            kept[i].used = ++uses;
            return kept[i].memory;
        }
        place = kept[i].used < kept[place].used ? i : place;
    }
    int descriptor = wire_take(message, 0);
    struct stat status;
    if (wanted->map_bytes == 0 || fstat(descriptor, &status) != 0 || wanted->map_bytes > (uint64_t)status.st_size) {
        wire_malformed();
    }
    if (kept[place].memory) {
        munmap(kept[place].memory, kept[place].bytes);
    }
    /* Map all pages at once: single page faults cost a third of the time for decoding a large image. */
    void *memory = mmap(NULL, wanted->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (memory == MAP_FAILED) {
        /* Pixels to encode may be read-only. */
        memory = mmap(NULL, wanted->map_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    }
    if (memory == MAP_FAILED) {
        worker_exit(EXIT_RESOURCES);
    }
    message->descriptors[0] = descriptor; /* closed with the message */
    kept[place].id = wanted->id;
    kept[place].bytes = wanted->map_bytes;
    kept[place].memory = memory;
    kept[place].used = ++uses;
    return memory;
}

void surface_open(wire_message *message, const iso_surface *wanted, cpi_surface *surface) {
    check(wanted);
    uint8_t *memory = map(message, wanted);
    services_hold(wanted->map_bytes);
    *surface = (cpi_surface){.size = sizeof *surface,
                             .format = wanted->format,
                             .width = wanted->width,
                             .height = wanted->height,
                             .stride = wanted->stride,
                             .pixels = memory + wanted->offset,
                             .byte_count = wanted->byte_count};
}
