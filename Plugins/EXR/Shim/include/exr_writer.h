/*
 * exr_writer.h - encoding with OpenEXRCore: one part of rows, from the top.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXR_WRITER_H
#define EXR_WRITER_H

#include <stdint.h>

typedef struct exr_shim_writer exr_shim_writer;

/* Writes bytes at a position: at the end of the file, or over bytes that it has. 0 = success. */
typedef int32_t (*exr_shim_write)(void *context, uint64_t offset, const uint8_t *bytes, uint64_t count);

typedef struct exr_shim_format {
    uint32_t    width, height;
    const char *channels;      /* one letter each, in the order of the samples of a pixel */
    uint8_t     is_half;       /* halves; floats otherwise */
    uint8_t     compression;   /* as in the file */
    uint8_t     has_chromaticities;
    float       chromaticities[8];
    float       pixel_aspect;
} exr_shim_format;

/* Writes the header. Returns NULL if memory is short; see exr_shim_writer_status. */
exr_shim_writer *exr_shim_writer_open(const exr_shim_format *format, exr_shim_write write, void *context);
void             exr_shim_writer_free(exr_shim_writer *writer);
/* 0 = success; 1 = failed; 2 = `write` failed. */
int32_t     exr_shim_writer_status(const exr_shim_writer *writer);
const char *exr_shim_writer_error(const exr_shim_writer *writer);
/* The number of rows of a chunk. */
uint32_t exr_shim_writer_rows(const exr_shim_writer *writer);
/* Encodes the chunk that begins at row `y`: interleaved samples, without padding. */
int32_t exr_shim_writer_add(exr_shim_writer *writer, uint32_t y, const uint8_t *samples);
/* Writes the rest of the file. */
int32_t exr_shim_writer_finish(exr_shim_writer *writer);

#endif
