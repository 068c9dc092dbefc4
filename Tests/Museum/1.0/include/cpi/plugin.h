/*
 * plugin.h - the plugin itself: its coders, and the one symbol that it exports.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_PLUGIN_H
#define CPI_PLUGIN_H
#include "decoder.h"
#include "encoder.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_CODER_DECODE           ((uint32_t)0x001)
#define CPI_CODER_ENCODE           ((uint32_t)0x002)
#define CPI_CODER_ANIMATION        ((uint32_t)0x004)  /* decodes more than one frame                           */
#define CPI_CODER_ENCODE_ANIMATION ((uint32_t)0x008)  /* encodes more than one frame                           */
#define CPI_CODER_INCREMENTAL      ((uint32_t)0x010)  /* returns CPI_PARTIAL on a growing source               */
#define CPI_CODER_SCALE            ((uint32_t)0x020)  /* scaled_size may answer other sizes than the full one  */
#define CPI_CODER_REGION           ((uint32_t)0x040)  /* decode takes any region (it may refuse some)          */
#define CPI_CODER_METADATA         ((uint32_t)0x080)  /* hands out or takes blobs                              */
#define CPI_CODER_ITEMS            ((uint32_t)0x100)  /* has the extension of items.h                          */
#define CPI_CODER_REWRITE          ((uint32_t)0x200)  /* the plugin's rewrite table serves this coder          */
#define CPI_CODER_TRANSCODE        ((uint32_t)0x400)  /* the plugin's transcode table serves this coder        */
#define CPI_CODER_ENCODE_ITEMS     ((uint32_t)0x800)  /* encodes several stills into one output (see items.h)  */

#define CPI_CONCURRENCY_ANY         ((uint32_t)0)  /* sessions are independent; one thread in each at a time          */
#define CPI_CONCURRENCY_SERIAL      ((uint32_t)1)  /* the host lets one thread into the plugin at a time; it does the
                                                      same for every value that it does not know                      */

/* One coder: the ability to decode and/or encode one format family. Constant for the life of the process. */
typedef struct cpi_coder {
    uint32_t                            size;
    uint32_t                            roles;   /* CPI_CODER_...; equal to the manifest's                    */
    const char                         *id;      /* equal to the manifest's, e.g. "org.example.qoi"           */
    void *CPI_NULLABLE                  data;    /* the plugin's own; the host never looks at it              */
    const cpi_decoder_api *CPI_NULLABLE decoder; /* NULL unless CPI_CODER_DECODE                              */
    const cpi_encoder_api *CPI_NULLABLE encoder; /* NULL unless one of the two ENCODE roles                   */
} cpi_coder;

/* What the entry function returns. Constant for the life of the process; the file is never unloaded. */
typedef struct cpi_plugin {
    uint32_t    size;
    uint32_t    abi_minor_built;  /* CPI_TARGET_MINOR at compile time                            */
    uint32_t    abi_minor_needed; /* lowest host minor it works with                             */
    uint32_t    concurrency;      /* CPI_CONCURRENCY_...                                         */
    const char *id;               /* equal to the manifest's, e.g. "org.example.qoi-plugin"      */
    const char *version;          /* equal to the manifest's                                     */
    uint32_t    coder_count;
    uint32_t    reserved;         /* must be zero                                                */

    /* Returns coder number `index`, from 0; NULL behind the last. [host - entered - any thread] */
    const cpi_coder *CPI_NULLABLE (*CPI_NONNULL coder)(uint32_t index);

    /* Prepares what all sessions share. Exactly once, before any session, no other call in flight. NULL: nothing to do.
       [host - entered - any thread] */
    cpi_status (*CPI_NULLABLE init)(cpi_error *error);

    /* Looks up an extension of the plugin by id (see extension.h). NULL for every id it does not know; a table stays
       valid for the life of the process. [host - entered - any thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(const char *id);
} cpi_plugin;

/*
 * The one exported symbol; the major version is in its name. Called once, under a lock, after the file was mapped.
 * Returns NULL and fills `error` when the plugin cannot work here. A plugin may export several majors side by side;
 * a host picks the highest it knows.
 * [host - none - any thread]
 */
CPI_EXTERN CPI_EXPORT const cpi_plugin *CPI_NULLABLE cpi_entry_1(const cpi_host *host, cpi_error *error);

#define CPI_ENTRY_SYMBOL "cpi_entry_1"

CPI_ASSUME_NONNULL_END
#endif
