/*
 * tiff_file.c - opens a file over the host's bytes, and keeps the messages of its handle.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int note_error(TIFF *tiff, void *context, const char *module, const char *format, va_list arguments) {
    messages *notes = context;
    (void)tiff, (void)module;
    vsnprintf(notes->error, TEXT, format, arguments);
    notes->errors++;
    return 1; /* not to the process-wide handler */
}

int note_warning(TIFF *tiff, void *context, const char *module, const char *format, va_list arguments) {
    messages *notes = context;
    char      text[TEXT];
    (void)tiff, (void)module;
    vsnprintf(text, TEXT, format, arguments);
    /* Private fields are usual, and no defect of the image. */
    if (strncmp(text, "Unknown field", 13) == 0) return 1;
    for (uint32_t i = 0; i < notes->noted; i++)
        if (strcmp(notes->warnings[i], text) == 0) return 1;
    if (notes->noted < WARNINGS) memcpy(notes->warnings[notes->noted++], text, TEXT);
    return 1;
}

static tmsize_t read_bytes(thandle_t handle, void *target, tmsize_t count) {
    tiff_shim_file *file = handle;
    uint64_t        left = file->position < file->source.count ? file->source.count - file->position : 0;
    uint64_t        size = count < 0 ? 0 : (uint64_t)count;
    if (size > left) size = left;
    if (size == 0) return 0;
    if (file->source.bytes) memcpy(target, file->source.bytes + file->position, size);
    else size = file->source.read(file->source.context, file->position, target, size);
    file->position += size;
    return (tmsize_t)size;
}

static tmsize_t write_nothing(thandle_t handle, void *bytes, tmsize_t count) {
    (void)handle, (void)bytes, (void)count;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_shim_file *file = handle;
    uint64_t        base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->position : file->source.count;
    file->position       = base + offset;
    return file->position;
}

static int    close_nothing(thandle_t handle) { return (void)handle, 0; }
static toff_t size_of(thandle_t handle) { return ((tiff_shim_file *)handle)->source.count; }

static int map(thandle_t handle, void **base, toff_t *size) {
    tiff_shim_file *file = handle;
    if (!file->source.bytes) return 0;
    *base = (void *)(uintptr_t)file->source.bytes;
    *size = file->source.count;
    return 1;
}

static void unmap(thandle_t handle, void *base, toff_t size) { (void)handle, (void)base, (void)size; }

tiff_shim_file *tiff_shim_open(const tiff_shim_source *source, int64_t max_alloc) {
    tiff_shim_file  *file    = calloc(1, sizeof *file);
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (file && options) {
        file->source = *source;
        TIFFOpenOptionsSetErrorHandlerExtR(options, note_error, &file->messages);
        TIFFOpenOptionsSetWarningHandlerExtR(options, note_warning, &file->messages);
        if (max_alloc > 0) TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)max_alloc);
        /* h: the header only; the caller selects a directory. */
        file->tiff = TIFFClientOpenExt("image", source->bytes ? "rh" : "rhm", file, read_bytes, write_nothing, seek,
                                       close_nothing, size_of, map, unmap, options);
    }
    TIFFOpenOptionsFree(options);
    if (file && file->tiff) return file;
    free(file);
    return NULL;
}

void tiff_shim_close(tiff_shim_file *file) {
    if (!file) return;
    TIFFClose(file->tiff);
    free(file);
}

const char *tiff_shim_error(const tiff_shim_file *file) { return file->messages.error; }

const char *tiff_shim_next_warning(tiff_shim_file *file) {
    messages *notes = &file->messages;
    return notes->told < notes->noted ? notes->warnings[notes->told++] : NULL;
}
