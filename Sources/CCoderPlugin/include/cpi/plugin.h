/*
 * plugin.h - the plugin itself: its coders, and the one symbol it exports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_PLUGIN_H
#define CPI_PLUGIN_H

#include "decoder.h"
#include "encoder.h"

#define CPI_CODER_DECODE           ((uint32_t)0x01)
#define CPI_CODER_ENCODE           ((uint32_t)0x02)
#define CPI_CODER_ANIMATION        ((uint32_t)0x04)  /* decodes more than one frame                            */
#define CPI_CODER_ENCODE_ANIMATION ((uint32_t)0x08)  /* encodes more than one frame                            */
#define CPI_CODER_INCREMENTAL      ((uint32_t)0x10)  /* answers CPI_PARTIAL on a growing source                */
#define CPI_CODER_REDUCE           ((uint32_t)0x20)  /* reduced_size may answer less than the full size        */
#define CPI_CODER_REGION           ((uint32_t)0x40)  /* decode takes a region                                  */
#define CPI_CODER_METADATA         ((uint32_t)0x80)  /* hands out or takes blobs                               */

#define CPI_CONCURRENCY_ANY         ((uint32_t)0)  /* sessions are independent; one thread in each at a time     */
#define CPI_CONCURRENCY_SERIAL      ((uint32_t)1)  /* the host lets one thread into the plugin at a time; so does a
                                                      host that does not know the value                          */

/* One coder: the ability to decode and/or encode one format family. Constant for the life of the process. */
typedef struct cpi_coder {
    uint32_t                            size;
    uint32_t                            roles;   /* CPI_CODER_...; equal to the manifest's                    */
    const char *CPI_NONNULL             id;      /* equal to the manifest's, e.g. "org.example.qoi"           */
    void *CPI_NULLABLE                  data;    /* the plugin's own; the host never looks at it              */
    const cpi_decoder_api *CPI_NULLABLE decoder; /* NULL unless CPI_CODER_DECODE                              */
    const cpi_encoder_api *CPI_NULLABLE encoder; /* NULL unless one of the two ENCODE roles                    */
} cpi_coder;

/* What the entry function answers. Constant for the life of the process; the file is never unloaded. */
typedef struct cpi_plugin {
    uint32_t                 size;
    uint32_t                 abi_minor_built;  /* CPI_TARGET_MINOR at compile time                            */
    uint32_t                 abi_minor_needed; /* lowest host minor it works with                             */
    uint32_t                 concurrency;      /* CPI_CONCURRENCY_...                                         */
    const char *CPI_NONNULL  id;               /* equal to the manifest's, e.g. "org.example.qoi-plugin"      */
    const char *CPI_NONNULL  version;          /* equal to the manifest's                                     */
    uint32_t                 coder_count;
    uint32_t                 reserved;         /* must be zero                                                */

    /* Returns coder number `index`, from 0; NULL behind the last. [host - entered - any thread] */
    const cpi_coder *CPI_NULLABLE (*CPI_NONNULL coder)(uint32_t index);

    /* Prepares what all sessions share. Exactly once, before any session, no other call in flight. NULL: nothing to do.
       [host - entered - any thread] */
    cpi_status (*CPI_NULLABLE init)(cpi_error *CPI_NONNULL error);

    /* Gives back caches that can be rebuilt; sessions may be open. NULL: there are none.
       [host - initialised - any thread] */
    void (*CPI_NULLABLE quiesce)(void);

    /* Looks up an extension of the plugin by id. NULL for every id it does not know. [host - entered - any thread] */
    const void *CPI_NULLABLE (*CPI_NULLABLE get)(const char *CPI_NONNULL id);
} cpi_plugin;

/*
 * The one exported symbol; the major version is in its name. Called once, under a lock, after the file was mapped.
 * Returns NULL and fills `error` when the plugin cannot work here. A plugin may export several majors side by side;
 * a host picks the highest it knows.
 * [host - none - any thread]
 */
CPI_EXTERN CPI_EXPORT const cpi_plugin *CPI_NULLABLE cpi_entry_1(const cpi_host *CPI_NONNULL host,
                                                                 cpi_error *CPI_NONNULL error);

#define CPI_ENTRY_SYMBOL "cpi_entry_1"

#endif
