/*
 * io.h - where bytes come from and go to, and the blobs that travel beside the pixels.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_IO_H
#define CPI_IO_H
#include "status.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_SOURCE_MEMORY  ((uint32_t)1)  /* `bytes` holds all `length` bytes                                     */
#define CPI_SOURCE_GROWING ((uint32_t)2)  /* `bytes` stays where it is; the first available() bytes are valid     */
#define CPI_SOURCE_READER  ((uint32_t)3)  /* `bytes` is NULL; read_at() is the only way                           */

#define CPI_LENGTH_UNKNOWN ((uint64_t)0xffffffffffffffff)

/*
 * Input bytes. The host owns them and keeps them from set_source to close; a rewrite or transcode has them for its one
 * call. A byte never changes once it is available. read_at() works for every kind.
 */
typedef struct cpi_source {
    uint32_t                     size;
    uint32_t                     kind;    /* CPI_SOURCE_...                                                       */
    uint64_t                     length;  /* total, or CPI_LENGTH_UNKNOWN while a growing source is not complete  */
    const uint8_t *CPI_NULLABLE  bytes;
    void *CPI_NULLABLE           ctx;     /* passed back in every call                                            */

    /* Returns how many bytes from the start are valid now; never decreases.
       [plugin - between set_source and close - session thread] */
    uint64_t (*available)(void *CPI_NULLABLE ctx);

    /* Returns 1 if no further byte will come, 0 if more may come.
       [plugin - between set_source and close - session thread] */
    int32_t (*complete)(void *CPI_NULLABLE ctx);

    /* Copies up to `count` bytes from `offset` into `buffer`; `copied` tells how many. CPI_OK with copied < count at
       the end of a complete source, CPI_NEED_INPUT with copied < count while it may grow, CPI_IO when reading fails.
       [plugin - between set_source and close - session thread, may block] */
    cpi_status (*read_at)(void *CPI_NULLABLE ctx, uint64_t offset, uint8_t *buffer, uint64_t count, uint64_t *copied);

    /* The ending of the source's name in lower case without the dot, e.g. "tga"; NULL = not known. A hint for formats
       without a signature; the rest of the name never reaches a plugin. */
    const char *CPI_NULLABLE     ending;
} cpi_source;

#define CPI_SINK_SEEKABLE ((uint32_t)0x01)  /* write_at() may be called */

/* Output bytes. The host owns them and keeps the table from begin to close; a rewrite or transcode has it for its one
   call. */
typedef struct cpi_sink {
    uint32_t           size;
    uint32_t           flags;  /* CPI_SINK_... */
    void *CPI_NULLABLE ctx;

    /* Appends `count` bytes. CPI_OK, CPI_IO, or CPI_LIMIT when the output would exceed max_output_bytes.
       [plugin - between begin and close - session thread, may block] */
    cpi_status (*write)(void *CPI_NULLABLE ctx, const uint8_t *bytes, uint64_t count);

    /* Overwrites `count` bytes from `offset`, all of them written before. NULL unless CPI_SINK_SEEKABLE.
       [plugin - between begin and close - session thread, may block] */
    cpi_status (*CPI_NULLABLE write_at)(void *CPI_NULLABLE ctx, uint64_t offset, const uint8_t *bytes, uint64_t count);
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

CPI_ASSUME_NONNULL_END
#endif
