/*
 * extension.h - optional abilities, looked up by string id "vendor.name/revision".
 *
 * Every table begins with a cpi_table that identifies it. The reader refuses a table whose tag is not the hash of the
 * id it asked for, so a plugin that returns the same pointer for every id is detected at once. A table may be shorter
 * than the reader's: the missing functions are NULL, and a table without one that is not CPI_NULLABLE does not count.
 * Functions are only appended to a table; any other change gets the next revision.
 *
 *   id                              looked up with         table                      header
 *   "coderhost.items/1"             cpi_decoder_api.get    cpi_items_api              items.h
 *   "coderhost.thumbnail-encode/1"  cpi_encoder_api.get    cpi_thumbnail_encode_api   items.h
 *   "coderhost.encode-items/1"      cpi_encoder_api.get    cpi_encode_items_api       items.h
 *   "coderhost.encode-rows/1"       cpi_encoder_api.get    cpi_encode_rows_api        rows.h
 *   "coderhost.parallel/1"          cpi_host.get           cpi_parallel_api           parallel.h
 *   "coderhost.rewrite/1"           cpi_plugin.get         cpi_rewrite_api            rewrite.h
 *   "coderhost.transcode/1"         cpi_plugin.get         cpi_transcode_api          rewrite.h
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_EXTENSION_H
#define CPI_EXTENSION_H
#include "decoder.h"
#include "encoder.h"

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
#endif
