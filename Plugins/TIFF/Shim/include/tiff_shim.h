/*
 * tiff_shim.h - libtiff for Swift: opaque objects, fixed-width types, no variadics and no process-wide handlers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TIFF_SHIM_H
#define TIFF_SHIM_H

#include <stdint.h>

/* The bytes of a file: in memory, or behind `read`, which returns the number of bytes that it copied. */
typedef struct tiff_shim_source {
    const uint8_t *bytes; /* NULL: use `read` */
    uint64_t       count;
    uint64_t (*read)(void *context, uint64_t offset, uint8_t *target, uint64_t count);
    void *context;
} tiff_shim_source;

/* The facts of one directory. A block is a strip or a tile; with separate planes, one of one plane. */
typedef struct tiff_shim_page {
    uint32_t width, height;
    uint32_t block_width, block_height;
    uint32_t block_count; /* of all planes */
    uint64_t block_bytes; /* of a decoded block */
    uint64_t row_bytes;   /* of a decoded row of a block */
    uint16_t bits, samples, photometric, planar, compression, sample_format, ink_set;
    uint16_t extra_count, extra[8];
    uint16_t orientation;     /* 0 = not stored */
    uint16_t resolution_unit; /* 0 = no resolution stored */
    float    x_resolution, y_resolution;
    uint8_t  is_tiled;
    uint8_t  is_codec_missing;
    uint8_t  needs_rgba;     /* only tiff_shim_read_rgba decodes it */
    uint8_t  is_converted;   /* the codec converts to RGB, which `photometric` states */
} tiff_shim_page;

typedef struct tiff_shim_file tiff_shim_file;

/* Opens a file without reading a directory. No allocation of libtiff is larger than `max_alloc`; 0 = no limit. The
   source's bytes must outlive the file. NULL: no memory, or no TIFF. */
tiff_shim_file *tiff_shim_open(const tiff_shim_source *source, int64_t max_alloc);
void            tiff_shim_close(tiff_shim_file *file);

/* The text of the last error, or an empty string. */
const char *tiff_shim_error(const tiff_shim_file *file);
/* Returns the next warning, or NULL; a text is returned once. */
const char *tiff_shim_next_warning(tiff_shim_file *file);

/* Reads the directory at a position in the file. 0 = success. */
int32_t tiff_shim_select(tiff_shim_file *file, uint64_t offset, tiff_shim_page *page);

/* Decodes a block into `count` bytes, which it fills with zeros first. 0 = success; 1 = damaged: the target holds the
   part that could be decoded. */
int32_t tiff_shim_read_block(tiff_shim_file *file, uint32_t block, uint8_t *target, uint64_t count);
/* The same for coded bytes that the caller has; it may change them. */
int32_t tiff_shim_decode_block(tiff_shim_file *file, uint32_t block, uint8_t *coded, uint64_t coded_count,
                               uint8_t *target, uint64_t count);
/* Decodes one row of the whole width, for strips that are large; rows in order are fast. */
int32_t tiff_shim_read_row(tiff_shim_file *file, uint32_t row, uint8_t *target, uint64_t count);
/* Decodes a block to RGB, 8 bits, from the top: `pixels` needs block_width * block_height elements, of which the first
   byte is red. */
int32_t tiff_shim_read_rgba(tiff_shim_file *file, uint32_t block, uint32_t *pixels, uint64_t count);

/* Where the coded bytes of a block are. 0 = success. */
int32_t tiff_shim_place(tiff_shim_file *file, uint32_t block, uint64_t *offset, uint64_t *count);

/* The color map: 3 * 2^bits numbers, all red ones first. 0 = success. */
int32_t tiff_shim_color_map(tiff_shim_file *file, uint16_t *target, uint32_t count);
/* The tables that the blocks of JPEG share; NULL if there are none. Valid until the next select. */
const uint8_t *tiff_shim_jpeg_tables(tiff_shim_file *file, uint32_t *count);

/* MARK: encoding */

typedef struct tiff_shim_writer tiff_shim_writer;

/* Writes bytes at a position: at the end of the file, or over bytes that it has. 0 = success. */
typedef int32_t (*tiff_shim_write)(void *context, uint64_t offset, const uint8_t *bytes, uint64_t count);

tiff_shim_writer *tiff_shim_writer_open(uint8_t is_big, uint8_t is_big_endian, tiff_shim_write write, void *context);
void              tiff_shim_writer_free(tiff_shim_writer *writer);
const char       *tiff_shim_writer_error(const tiff_shim_writer *writer);

/* Appends bytes that no field of libtiff describes; `offset` becomes their position, which is even. 0 = success. */
int32_t tiff_shim_append(tiff_shim_writer *writer, const uint8_t *bytes, uint64_t count, uint64_t *offset);
/* The position that tiff_shim_append would use. */
uint64_t tiff_shim_end(const tiff_shim_writer *writer);

int32_t tiff_shim_set_number(tiff_shim_writer *writer, uint32_t tag, uint32_t value);
int32_t tiff_shim_set_real(tiff_shim_writer *writer, uint32_t tag, double value);
int32_t tiff_shim_set_offset(tiff_shim_writer *writer, uint32_t tag, uint64_t value);
int32_t tiff_shim_set_text(tiff_shim_writer *writer, uint32_t tag, const char *text);
int32_t tiff_shim_set_bytes(tiff_shim_writer *writer, uint32_t tag, const uint8_t *bytes, uint32_t count);
int32_t tiff_shim_set_extra_sample(tiff_shim_writer *writer, uint16_t kind);

/* Encodes a strip or a tile; it may change the bytes. 0 = success. */
int32_t tiff_shim_write_block(tiff_shim_writer *writer, uint8_t is_tile, uint32_t block, uint8_t *bytes, uint64_t count);
/* Announces smaller levels of the page: the next `count` pages, at most 16, are subordinate to it. 0 = success. */
int32_t tiff_shim_set_levels(tiff_shim_writer *writer, uint16_t count);
/* Writes the directory of the page; the fields that follow describe the next page. 0 = success. */
int32_t tiff_shim_end_page(tiff_shim_writer *writer);
/* Frees libtiff's part. 0 = success. */
int32_t tiff_shim_finish(tiff_shim_writer *writer);

#endif
