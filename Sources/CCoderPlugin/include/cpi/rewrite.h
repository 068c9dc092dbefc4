/*
 * rewrite.h - file to file without decoding pixels: rewrites inside one format, transcodes between two.
 *
 * Both are single calls without a session, on a complete source: the tables that the host passes are valid during the
 * call, and the plugin keeps nothing afterwards. The host deletes the output of a call that does not return CPI_OK.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_REWRITE_H
#define CPI_REWRITE_H
#include "extension.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_REWRITE_OPTIMIZE ((uint32_t)0x01)       /* compress the same samples into fewer bytes                    */
#define CPI_REWRITE_PERFECT  ((uint32_t)0x02)       /* refuse a transform or crop that keeps other pixels than asked */
#define CPI_REWRITE_THUMBNAILS ((uint32_t)0x04)     /* leave out thumbnails that are no part of a blob               */
#define CPI_REWRITE_KIND(kind) ((uint32_t)1 << (kind)) /* a CPI_BLOB_... in `remove`                                 */
#define CPI_REWRITE_DROPPED_ITEMS ((uint32_t)0x01) /* outcome: items other than the primary one are left out        */
#define CPI_REWRITE_DROPPED_THUMBNAILS ((uint32_t)0x02) /* outcome: CPI_REWRITE_THUMBNAILS is done, other items stay */

/* The changes to the primary image. The host edits Exif and XMP: a plugin only removes and replaces blobs. */
typedef struct cpi_rewrite_request {
    uint32_t                     size;
    uint32_t                     flags;       /* CPI_REWRITE_...                                                     */
    uint32_t                     remove;      /* CPI_REWRITE_KIND(...) of the metadata to leave out                  */
    uint32_t                     orientation; /* transform for the stored pixels, Exif 1 ... 8; 0 or 1 = none        */
    cpi_rect                     crop;        /* part to keep, pixels before the transform; all zero = everything    */
    const cpi_blob *CPI_NULLABLE blobs;       /* each replaces every blob of its kind (and key, for TEXT and RAW), or
                                                 is added. Element i is at (const char *)blobs + i * blob_stride     */
    uint64_t                     blob_stride;
    uint32_t                     blob_count;
    uint32_t                     reserved;    /* must be zero                                                        */
} cpi_rewrite_request;

/* What the plugin did. */
typedef struct cpi_rewrite_outcome {
    uint32_t size;
    uint32_t flags;    /* CPI_REWRITE_DROPPED_...                                                             */
    cpi_rect kept;     /* stored pixels in the output, before the transform; may end at the edges of blocks   */
    uint32_t reserved; /* must be zero                                                                        */
} cpi_rewrite_outcome;

#define CPI_EXT_REWRITE     "coderhost.rewrite/1"
#define CPI_EXT_REWRITE_TAG ((uint64_t)0x3d00562405bc76d6)

typedef struct cpi_rewrite_api {
    cpi_table table;

    /* Copies source to sink with the changes asked for. Every pixel of outcome->kept keeps its value, and metadata that
       the request does not name is copied. CPI_OK, CPI_REFUSED (the format cannot make one of the changes without loss)
       or an error. Only for coders with CPI_CODER_REWRITE. [host - none - any thread, may block] */
    cpi_status (*rewrite)(const struct cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                          const cpi_options *CPI_NULLABLE options, const cpi_rewrite_request *request,
                          const cpi_source *source, const cpi_sink *sink, cpi_rewrite_outcome *outcome,
                          cpi_error *error);
} cpi_rewrite_api;

/* Bit-exact transcoding, e.g. JPEG into JPEG XL and back. The manifest's `transcodes` names the formats. */
#define CPI_TRANSCODE_PACK   ((uint32_t)1)  /* source is a stream of `format`, sink gets the coder's own format      */
#define CPI_TRANSCODE_UNPACK ((uint32_t)2)  /* source is the coder's own format, sink gets the original of `format`  */

#define CPI_EXT_TRANSCODE     "coderhost.transcode/1"
#define CPI_EXT_TRANSCODE_TAG ((uint64_t)0x189fbbd1a8231395)

typedef struct cpi_transcode_api {
    cpi_table table;

    /* Copies source to sink in the other format. CPI_OK, CPI_REFUSED (this source was not packed from `format`, or
       cannot be packed) or an error. Only for coders with CPI_CODER_TRANSCODE. [host - none - any thread, may block] */
    cpi_status (*transcode)(const struct cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                            const cpi_options *CPI_NULLABLE options, uint32_t direction, const char *format,
                            const cpi_source *source, const cpi_sink *sink, cpi_error *error);
} cpi_transcode_api;

CPI_ASSUME_NONNULL_END
#endif
