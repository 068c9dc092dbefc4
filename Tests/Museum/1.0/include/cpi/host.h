/*
 * host.h - what the host lends a plugin: limits, the services of one session, and extensions of the host.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_HOST_H
#define CPI_HOST_H
#include "status.h"
CPI_ASSUME_NONNULL_BEGIN

/*
 * What a session may cost. 0 = no limit. The host checks the facts of read_header against these before it allocates
 * memory; a plugin checks what only it can see (scans, nesting, its own buffers) and returns CPI_LIMIT. The time limit
 * is not among them: poll() reports it.
 */
typedef struct cpi_limits {
    uint32_t size;
    uint32_t max_width;          /* pixels, canvas                                                        */
    uint32_t max_height;         /* rows, canvas                                                          */
    uint32_t max_frames;
    uint64_t max_pixels;         /* pixels of what is decoded: the frame, the region, or the scaled size  */
    uint64_t max_total_pixels;   /* canvas pixels * frames                                                */
    uint64_t max_source_pixels;  /* width * height of the canvas, where only a part or a size is decoded  */
    uint64_t max_alloc;          /* bytes, one allocation                                                 */
    uint64_t max_total_alloc;    /* bytes, all allocations of a session at one time                       */
    uint64_t max_metadata_bytes; /* each blob                                                             */
    uint64_t max_input_bytes;
    uint64_t max_output_bytes;
    uint32_t max_nesting;        /* boxes in boxes                                                        */
    uint32_t max_threads;        /* threads that a plugin may start for one session                       */
    uint32_t max_scans;          /* progressive scans of one image                                        */
    uint32_t max_ratio;          /* decoded bytes per input byte                                          */
} cpi_limits;

#define CPI_CONTINUE ((cpi_status)0)  /* poll() returns it, CPI_CANCELLED or CPI_DEADLINE */

#define CPI_LOG_DEBUG   ((uint32_t)0)
#define CPI_LOG_INFO    ((uint32_t)1)
#define CPI_LOG_WARNING ((uint32_t)2)  /* the image is usable, something was off: shown to the user */

/* The callbacks of one session, valid from open to close. A plugin writes to no file descriptor of its own. */
typedef struct cpi_services {
    uint32_t           size;
    uint32_t           flags;  /* none defined */
    void *CPI_NULLABLE ctx;    /* passed back in every call */

    /* Allocates `count` bytes aligned for any type, metered against the limits. NULL when refused: handle it.
       [plugin - open to close - session thread, and tasks of cpi_parallel_api.run] */
    void *CPI_NULLABLE (*CPI_NONNULL allocate)(void *CPI_NULLABLE ctx, uint64_t count);

    /* Frees what allocate returned; NULL is fine. [plugin - open to close - as allocate] */
    void (*release)(void *CPI_NULLABLE ctx, void *CPI_NULLABLE memory);

    /* Reports memory that a codec library takes (positive) or gives back (negative) by itself. CPI_LIMIT: do not take
       it; return CPI_LIMIT to the host. [plugin - open to close - as allocate] */
    cpi_status (*budget)(void *CPI_NULLABLE ctx, int64_t delta);

    /* Asks whether to continue. Call it every 10 ms of work or every 64 rows, whichever comes first. CPI_CONTINUE,
       CPI_CANCELLED or CPI_DEADLINE. [plugin - open to close - any thread] */
    cpi_status (*poll)(void *CPI_NULLABLE ctx);

    /* Hands over one line of text; CPI_LOG_WARNING becomes a warning of the result.
       [plugin - open to close - any thread] */
    void (*log)(void *CPI_NULLABLE ctx, uint32_t severity, const char *message);

    /* Reports how far the current call is: `done` of `total` in units of the plugin's choice.
       [plugin - inside decode, add_frame, add_rows, finish, rewrite, transcode - session thread] */
    void (*progress)(void *CPI_NULLABLE ctx, uint64_t done, uint64_t total);

    /* Returns a monotonic clock in nanoseconds. [plugin - open to close - any thread] */
    uint64_t (*now)(void *CPI_NULLABLE ctx);

    /* Returns how many threads are worth using, at least 1. [plugin - open to close - session thread] */
    uint32_t (*thread_hint)(void *CPI_NULLABLE ctx);
} cpi_services;

/* The host as a plugin's entry function sees it. Valid for the life of the process. */
typedef struct cpi_host {
    uint32_t           size;
    uint32_t           abi_minor; /* highest minor this host knows                      */
    const char        *name;      /* e.g. "coderhost"                                   */
    const char        *version;   /* e.g. "0.1.0"                                       */
    void *CPI_NULLABLE ctx;

    /* Looks up an extension of the host by id (see extension.h). NULL for every id it does not know; a table stays
       valid for the life of the process. [plugin - any - any thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(void *CPI_NULLABLE ctx, const char *id);
} cpi_host;

CPI_ASSUME_NONNULL_END
#endif
