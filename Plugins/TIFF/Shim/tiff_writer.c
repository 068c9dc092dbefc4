/*
 * tiff_writer.c - a file that libtiff writes through a function: of each page the blocks first, then the directory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a written directory. */
typedef struct fragment {
    uint64_t offset, count;
    uint8_t *bytes;
} fragment;

struct tiff_shim_writer {
    TIFF           *tiff;
    tiff_shim_write write;
    void           *context;
    uint64_t        position, end;
    /* The directories, which libtiff reads again to link the next one; the last one is not complete. */
    fragment *directories;
    size_t    directory_count;
    int       keeps; /* a directory is being written */
    messages  messages;
};

static tmsize_t read_directory(thandle_t handle, void *target, tmsize_t count) {
    tiff_shim_writer *writer = handle;
    for (size_t i = writer->directory_count; i > 0; i--) {
        const fragment *one = &writer->directories[i - 1];
        if (count >= 0 && writer->position >= one->offset && writer->position - one->offset <= one->count &&
            (uint64_t)count <= one->count - (writer->position - one->offset)) {
            memcpy(target, one->bytes + (writer->position - one->offset), (size_t)count);
            writer->position += (uint64_t)count;
            return count;
        }
    }
    return 0;
}

/* Keeps the bytes of the directory being written, of which the last write is the whole, and changes of others. */
static int keep(tiff_shim_writer *writer, const uint8_t *bytes, uint64_t count) {
    for (size_t i = 0; i < writer->directory_count; i++) {
        fragment *one = &writer->directories[i];
        if (writer->position >= one->offset && writer->position - one->offset <= one->count &&
            count <= one->count - (writer->position - one->offset)) {
            memcpy(one->bytes + (writer->position - one->offset), bytes, count);
            return 0;
        }
    }
    if (!writer->keeps || count > 1 << 20) return 0;
    fragment *last = &writer->directories[writer->directory_count];
    uint8_t  *copy = realloc(last->bytes, count ? count : 1);
    if (!copy) return 1;
    memcpy(copy, bytes, count);
    *last = (fragment){writer->position, count, copy};
    return 0;
}

static tmsize_t write_bytes(thandle_t handle, void *bytes, tmsize_t count) {
    tiff_shim_writer *writer = handle;
    if (count < 0) return -1;
    /* Values are written before the directory that precedes them. */
    while (writer->position > writer->end) {
        static const uint8_t zeros[512];
        uint64_t             gap = writer->position - writer->end;
        if (gap > sizeof zeros) gap = sizeof zeros;
        if (writer->write(writer->context, writer->end, zeros, gap) != 0) return -1;
        writer->end += gap;
    }
    if (writer->write(writer->context, writer->position, bytes, (uint64_t)count) != 0) return -1;
    if (keep(writer, bytes, (uint64_t)count) != 0) return -1;
    writer->position += (uint64_t)count;
    if (writer->position > writer->end) writer->end = writer->position;
    return count;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_shim_writer *writer = handle;
    writer->position = (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? writer->position : writer->end) + offset;
    return writer->position;
}

static int    close_nothing(thandle_t handle) { return (void)handle, 0; }
static toff_t size_of(thandle_t handle) { return ((tiff_shim_writer *)handle)->end; }

tiff_shim_writer *tiff_shim_writer_open(uint8_t is_big, uint8_t is_big_endian, tiff_shim_write write, void *context) {
    tiff_shim_writer *writer  = calloc(1, sizeof *writer);
    TIFFOpenOptions  *options = TIFFOpenOptionsAlloc();
    if (writer && options) {
        char mode[5] = "wlm";
        if (is_big_endian) mode[1] = 'b';
        if (is_big) mode[3] = '8';
        writer->write = write, writer->context = context;
        TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, &writer->messages);
        TIFFOpenOptionsSetWarningHandlerExtR(options, note_warning, &writer->messages);
        writer->tiff = TIFFClientOpenExt("image", mode, writer, read_directory, write_bytes, seek, close_nothing, size_of,
                                         NULL, NULL, options);
    }
    TIFFOpenOptionsFree(options);
    if (writer && writer->tiff) return writer;
    free(writer);
    return NULL;
}

void tiff_shim_writer_free(tiff_shim_writer *writer) {
    if (!writer) return;
    if (writer->tiff) TIFFCleanup(writer->tiff);
    for (size_t i = 0; i < writer->directory_count; i++) free(writer->directories[i].bytes);
    free(writer->directories);
    free(writer);
}

const char *tiff_shim_writer_error(const tiff_shim_writer *writer) { return writer->messages.error; }
uint64_t    tiff_shim_end(const tiff_shim_writer *writer) { return (writer->end + 1) & ~(uint64_t)1; }

int32_t tiff_shim_append(tiff_shim_writer *writer, const uint8_t *bytes, uint64_t count, uint64_t *offset) {
    *offset = tiff_shim_end(writer);
    seek(writer, *offset, SEEK_SET);
    return write_bytes(writer, (void *)(uintptr_t)bytes, (tmsize_t)count) < 0;
}

int32_t tiff_shim_set_number(tiff_shim_writer *writer, uint32_t tag, uint32_t value) {
    return !TIFFSetField(writer->tiff, tag, value);
}
int32_t tiff_shim_set_real(tiff_shim_writer *writer, uint32_t tag, double value) {
    return !TIFFSetField(writer->tiff, tag, value);
}
int32_t tiff_shim_set_offset(tiff_shim_writer *writer, uint32_t tag, uint64_t value) {
    return !TIFFSetField(writer->tiff, tag, value);
}
int32_t tiff_shim_set_text(tiff_shim_writer *writer, uint32_t tag, const char *text) {
    return !TIFFSetField(writer->tiff, tag, text);
}
int32_t tiff_shim_set_bytes(tiff_shim_writer *writer, uint32_t tag, const uint8_t *bytes, uint32_t count) {
    return !TIFFSetField(writer->tiff, tag, count, bytes);
}
int32_t tiff_shim_set_extra_sample(tiff_shim_writer *writer, uint16_t kind) {
    return !TIFFSetField(writer->tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
}

int32_t tiff_shim_write_block(tiff_shim_writer *writer, uint8_t is_tile, uint32_t block, uint8_t *bytes,
                              uint64_t count) {
    return (is_tile ? TIFFWriteEncodedTile(writer->tiff, block, bytes, (tmsize_t)count)
                    : TIFFWriteEncodedStrip(writer->tiff, block, bytes, (tmsize_t)count))
           < 0;
}

int32_t tiff_shim_set_levels(tiff_shim_writer *writer, uint16_t count) {
    static const uint64_t places[16];
    return count > 16 || !TIFFSetField(writer->tiff, TIFFTAG_SUBIFD, count, places);
}

int32_t tiff_shim_end_page(tiff_shim_writer *writer) {
    fragment *grown = realloc(writer->directories, (writer->directory_count + 1) * sizeof *grown);
    if (!grown) return 1;
    writer->directories                          = grown;
    writer->directories[writer->directory_count] = (fragment){0, 0, NULL};
    writer->keeps                                = 1;
    int is_written                               = TIFFWriteDirectory(writer->tiff);
    writer->keeps                                = 0;
    writer->directory_count++;
    return !is_written || writer->messages.errors != 0;
}

int32_t tiff_shim_finish(tiff_shim_writer *writer) {
    TIFFCleanup(writer->tiff);
    writer->tiff = NULL;
    return writer->messages.errors != 0;
}
