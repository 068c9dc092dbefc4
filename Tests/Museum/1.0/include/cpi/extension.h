/*
 * extension.h - optional abilities, looked up by string id "vendor.name/revision".
 *
 * Every table begins with a cpi_table that identifies it. The reader refuses a table whose tag is not the hash of the
 * id it asked for, so a plugin that answers every id with the same pointer is caught at once.
 * A draft has its final id from the start; only the revision ever grows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_EXTENSION_H
#define CPI_EXTENSION_H

#include "decoder.h"

/* The first field of every extension table. Frozen for this major. */
typedef struct cpi_table {
    uint32_t size; /* of the whole table      */
    uint32_t rev;  /* the number after the '/' */
    uint64_t tag;  /* cpi_tag(id)             */
} cpi_table;

/* Hashes an extension id: 64-bit FNV-1a over its bytes without the NUL. [any - any - any thread] */
static inline uint64_t cpi_tag(const char *CPI_NONNULL id) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *p = id; *p; p++) {
        hash = (hash ^ (uint64_t)(unsigned char)*p) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/*
 * Embedded thumbnails, looked up with cpi_decoder_api.get. Their size is the file's word and need not have the
 * picture's aspect; whoever uses one checks it.
 */
#define CPI_EXT_THUMBNAIL     "coderhost.thumbnail/1"
#define CPI_EXT_THUMBNAIL_TAG UINT64_C(0xc5167206c0116e46)

typedef struct cpi_thumbnail_api {
    cpi_table table;

    /* Tells the facts of thumbnail number `index`, from 0. CPI_END behind the last.
       [host - header and later - session thread] */
    cpi_status (*CPI_NONNULL info)(cpi_decoder *CPI_NONNULL decoder, uint32_t index, cpi_image_info *CPI_NONNULL info,
                                   cpi_error *CPI_NONNULL error);

    /* Decodes thumbnail number `index` in its native format. [host - header and later - session thread, may block] */
    cpi_status (*CPI_NONNULL decode)(cpi_decoder *CPI_NONNULL decoder, uint32_t index,
                                     const cpi_surface *CPI_NONNULL surface, cpi_error *CPI_NONNULL error);
} cpi_thumbnail_api;

#endif
