/*
 * exr_shim.h - OpenEXRCore for Swift: opaque objects, fixed-width types, the host's bytes and a limit of memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EXR_SHIM_H
#define EXR_SHIM_H

#include <stdint.h>

/* The bytes of a file: in memory, or behind `read`, which returns the number of bytes that it copied. */
typedef struct exr_shim_source {
    const uint8_t *bytes; /* NULL: use `read` */
    uint64_t       count;
    uint64_t (*read)(void *context, uint64_t offset, uint8_t *target, uint64_t count);
    void *context;
} exr_shim_source;

/* A rectangle with its last column and row. */
typedef struct exr_shim_window {
    int32_t min_x, min_y, max_x, max_y;
} exr_shim_window;

/* The facts of one part. Pointers stay valid until the file is closed; NULL: not stored. */
typedef struct exr_shim_part {
    const char    *name, *view;
    const uint8_t *preview; /* RGBA, 8 bits */
    exr_shim_window data, display;
    uint32_t preview_width, preview_height;
    uint32_t tile_width, tile_height; /* 0: rows */
    uint32_t rows_per_chunk;
    int32_t  levels_x, levels_y;
    int32_t  chunk_count;
    int32_t  channel_count;
    int32_t  attribute_count;
    uint64_t chunk_bytes; /* the largest number of bytes of a decoded chunk */
    float    pixel_aspect, x_density; /* 0: not stored */
    float    chromaticities[8];       /* red, green, blue, white */
    uint8_t  has_chromaticities, is_deep, compression, level_mode;
} exr_shim_part;

typedef struct exr_shim_channel {
    const char *name;
    int32_t     type; /* 0 = unsigned integer, 1 = half, 2 = float */
    int32_t     x_sampling, y_sampling;
} exr_shim_channel;

/* A chunk: rows from `y` on, or a tile of a level. */
typedef struct exr_shim_block {
    int32_t part;
    int32_t is_tile;
    int32_t x, y; /* the number of the tile; the row in the coordinates of the data window */
    int32_t level_x, level_y;
    int32_t width, height; /* the targets have room for that */
} exr_shim_block;

/* Memory for the samples of one channel. */
typedef struct exr_shim_target {
    int32_t  channel;
    int32_t  type; /* as in exr_shim_channel: 1 or 2 */
    uint8_t *start;
    int32_t  pixel_stride, row_stride;
} exr_shim_target;

typedef struct exr_shim_file exr_shim_file;

/* Opens a file and reads the headers of all parts. All memory of the library together is at most `limit` bytes; 0 = no
   limit. The source's bytes must outlive the file. Returns NULL only if memory is short; see exr_shim_status. */
exr_shim_file *exr_shim_open(const exr_shim_source *source, uint64_t limit);
void           exr_shim_close(exr_shim_file *file);

enum { EXR_SHIM_OK = 0, EXR_SHIM_DAMAGED = 1, EXR_SHIM_MISSING = 2, EXR_SHIM_SHORT = 3, EXR_SHIM_UNSUPPORTED = 4,
       EXR_SHIM_LIMIT = 5 };

/* The outcome of opening. MISSING: bytes behind the end of the file were read; SHORT: the system has no memory; LIMIT: the
   library asked for more bytes than allowed. */
int32_t exr_shim_status(const exr_shim_file *file);
/* The bytes that the library would hold if the last call had not been refused with LIMIT. */
uint64_t exr_shim_requested(const exr_shim_file *file);
/* The text of the first error of the last call, or an empty string. */
const char *exr_shim_error(const exr_shim_file *file);

int32_t exr_shim_part_count(const exr_shim_file *file);
int32_t exr_shim_read_part(exr_shim_file *file, int32_t part, exr_shim_part *facts);
int32_t exr_shim_read_channel(exr_shim_file *file, int32_t part, int32_t index, exr_shim_channel *channel);
/* The size of a level. */
int32_t exr_shim_level(exr_shim_file *file, int32_t part, int32_t level, int32_t *width, int32_t *height);
/* A view of the attribute multiView, which has the names of the views of one part; NULL: no further one. */
const char *exr_shim_view(exr_shim_file *file, int32_t part, int32_t index);
/* The name and the bytes of attribute `index` if it is a text; `text` is NULL otherwise. */
int32_t exr_shim_text(exr_shim_file *file, int32_t part, int32_t index, const char **name, const char **text,
                      uint32_t *count);

/* Decodes some channels of a chunk. */
int32_t exr_shim_decode(exr_shim_file *file, const exr_shim_block *block, const exr_shim_target *targets,
                        uint32_t count);

#endif
