/*
 * status.h - what a call returns: success, notes, suspensions and errors.
 *
 * A non-negative status is no failure. Each function lists the statuses that it may return beside CPI_OK; the host
 * treats any other status as a fault of the plugin, never as success. After a negative status every later call on the
 * same session returns that status until the session is closed. There is no exception: a function that only cannot
 * serve one request returns CPI_REFUSED, and the session continues as if the request had not been made.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_STATUS_H
#define CPI_STATUS_H
#include "version.h"
CPI_ASSUME_NONNULL_BEGIN

typedef int32_t cpi_status;

#define CPI_OK               ((cpi_status)0)   /* done                                                                */
#define CPI_END              ((cpi_status)1)   /* note: there is no further frame, blob, offer or item                */
#define CPI_NEED_INPUT       ((cpi_status)2)   /* suspension: repeat the call once the source has grown               */
#define CPI_PARTIAL          ((cpi_status)3)   /* note: the surface holds a usable part of the image                  */
#define CPI_REFUSED          ((cpi_status)4)   /* note: this request cannot be served; the session is intact          */

#define CPI_NOT_MINE         ((cpi_status)-1)  /* these bytes are another format: the host asks the next coder        */
#define CPI_UNSUPPORTED      ((cpi_status)-2)  /* this format, but a feature of it is not supported: next coder       */
#define CPI_CORRUPT          ((cpi_status)-3)  /* damaged data; the host stops and asks no other coder                */
#define CPI_LIMIT            ((cpi_status)-4)  /* a limit of cpi_limits would be exceeded; fill limit_*               */
#define CPI_INVALID_ARGUMENT ((cpi_status)-5)  /* an option or a parameter has no legal value                         */
#define CPI_CANCELLED        ((cpi_status)-6)  /* poll() returned it                                                  */
#define CPI_DEADLINE         ((cpi_status)-7)  /* poll() returned it                                                  */
#define CPI_NO_MEMORY        ((cpi_status)-8)  /* an allocation failed                                                */
#define CPI_IO               ((cpi_status)-9)  /* source or sink failed                                               */
#define CPI_MISUSE           ((cpi_status)-10) /* a call out of sequence, or NULL where it is not allowed             */
#define CPI_INTERNAL         ((cpi_status)-11) /* a bug in the plugin                                                 */
#define CPI_TRUNCATED        ((cpi_status)-12) /* the data ends too early and the source is complete                  */

/* Identifies a limit in cpi_error.limit_id; the order is that of cpi_limits. */
#define CPI_LIMIT_NONE           ((uint32_t)0)
#define CPI_LIMIT_WIDTH          ((uint32_t)1)
#define CPI_LIMIT_HEIGHT         ((uint32_t)2)
#define CPI_LIMIT_PIXELS         ((uint32_t)3)
#define CPI_LIMIT_FRAMES         ((uint32_t)4)
#define CPI_LIMIT_TOTAL_PIXELS   ((uint32_t)5)
#define CPI_LIMIT_SOURCE_PIXELS  ((uint32_t)6)
#define CPI_LIMIT_ALLOC          ((uint32_t)7)
#define CPI_LIMIT_TOTAL_ALLOC    ((uint32_t)8)
#define CPI_LIMIT_METADATA_BYTES ((uint32_t)9)
#define CPI_LIMIT_INPUT_BYTES    ((uint32_t)10)
#define CPI_LIMIT_OUTPUT_BYTES   ((uint32_t)11)
#define CPI_LIMIT_NESTING        ((uint32_t)12)
#define CPI_LIMIT_THREADS        ((uint32_t)13)
#define CPI_LIMIT_SCANS          ((uint32_t)14)
#define CPI_LIMIT_RATIO          ((uint32_t)15)

/*
 * What went wrong. The host owns it. A plugin fills it when it returns a negative status or CPI_REFUSED and leaves it
 * alone otherwise. `message` is one sentence for a person, without file names and file content.
 */
typedef struct cpi_error {
    uint32_t   size;
    cpi_status code;
    char       domain[32];       /* the library that failed, e.g. "libpng"; empty: the plugin itself                  */
    char       message[256];     /* e.g. "IDAT: CRC error"                                                            */
    char       feature[64];      /* with CPI_UNSUPPORTED: what is missing, e.g. "arithmetic coding"                   */
    uint64_t   input_offset;     /* byte position in the source, where known; 0 otherwise                             */
    uint32_t   limit_id;         /* with CPI_LIMIT: CPI_LIMIT_...                                                     */
    uint32_t   reserved;         /* must be zero                                                                      */
    uint64_t   limit_allowed;    /* with CPI_LIMIT                                                                    */
    uint64_t   limit_requested;  /* with CPI_LIMIT                                                                    */
} cpi_error;

CPI_ASSUME_NONNULL_END
#endif
