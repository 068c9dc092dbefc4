/*
 * io.h - where bytes come from and go to, and the blobs that travel beside the pixels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_IO_H
#define CPI_IO_H

#include "status.h"

#define CPI_SOURCE_MEMORY  ((uint32_t)1)  /* everything is there: `bytes` holds `length` bytes                    */
#define CPI_SOURCE_GROWING ((uint32_t)2)  /* `bytes` stays where it is; the first available() bytes are valid     */
#define CPI_SOURCE_READER  ((uint32_t)3)  /* `bytes` is NULL; read_at() is the only way                           */

#define CPI_LENGTH_UNKNOWN UINT64_MAX

/*
 * Input bytes, owned by the host and valid from set_source to close. The bytes never change once they are available.
 * read_at() works for every kind, so a plugin that does not care about copies needs nothing else.
 */
typedef struct cpi_source {
    uint32_t                     size;
    uint32_t                     kind;    /* CPI_SOURCE_...                                                       */
    uint64_t                     length;  /* total, or CPI_LENGTH_UNKNOWN while a growing source is not complete  */
    const uint8_t *CPI_NULLABLE  bytes;
    void *CPI_NULLABLE           ctx;     /* passed back in every call                                            */

    /* Says how many bytes from the start are valid now; never goes down.
       [plugin - between set_source and close - session thread] */
    uint64_t (*CPI_NONNULL available)(void *CPI_NULLABLE ctx);

    /* Says whether no further byte will come (1) or more may (0).
       [plugin - between set_source and close - session thread] */
    int32_t (*CPI_NONNULL complete)(void *CPI_NULLABLE ctx);

    /* Copies up to `count` bytes from `offset` into `buffer`; `copied` tells how many. CPI_OK with copied < count at
       the end of a complete source, CPI_NEED_INPUT with copied < count while it may grow, CPI_IO when reading fails.
       [plugin - between set_source and close - session thread, may block] */
    cpi_status (*CPI_NONNULL read_at)(void *CPI_NULLABLE ctx, uint64_t offset, uint8_t *CPI_NONNULL buffer,
                                      uint64_t count, uint64_t *CPI_NONNULL copied);
} cpi_source;

#define CPI_SINK_SEEKABLE ((uint32_t)1 << 0)  /* write_at() may be called */

/* Output bytes, owned by the host and valid from begin to close. */
typedef struct cpi_sink {
    uint32_t           size;
    uint32_t           flags;  /* CPI_SINK_... */
    void *CPI_NULLABLE ctx;

    /* Appends `count` bytes. CPI_OK, CPI_IO, or CPI_LIMIT when the output would grow past max_output_bytes.
       [plugin - between begin and close - session thread, may block] */
    cpi_status (*CPI_NONNULL write)(void *CPI_NULLABLE ctx, const uint8_t *CPI_NONNULL bytes, uint64_t count);

    /* Overwrites `count` bytes from `offset`, all of them written before. NULL unless CPI_SINK_SEEKABLE.
       [plugin - between begin and close - session thread, may block] */
    cpi_status (*CPI_NULLABLE write_at)(void *CPI_NULLABLE ctx, uint64_t offset, const uint8_t *CPI_NONNULL bytes,
                                        uint64_t count);
} cpi_sink;

#define CPI_BLOB_EXIF ((uint32_t)1)  /* a TIFF stream beginning with II or MM; no "Exif\0\0" in front */
#define CPI_BLOB_XMP  ((uint32_t)2)  /* an XMP packet, UTF-8                                          */
#define CPI_BLOB_ICC  ((uint32_t)3)  /* an ICC profile                                                */
#define CPI_BLOB_IPTC ((uint32_t)4)  /* IPTC-IIM records                                              */
#define CPI_BLOB_TEXT ((uint32_t)5)  /* UTF-8 text; `key` names it                                    */
#define CPI_BLOB_RAW  ((uint32_t)6)  /* anything else; `key` is the format's own tag                  */

/* Metadata, kept verbatim. A plugin does not interpret it beyond what decoding needs. */
typedef struct cpi_blob {
    uint32_t                    size;
    uint32_t                    kind;   /* CPI_BLOB_... */
    const char *CPI_NULLABLE    key;
    const uint8_t *CPI_NULLABLE bytes;
    uint64_t                    length;
} cpi_blob;

#endif
