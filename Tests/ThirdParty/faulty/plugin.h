/*
 * plugin.h - a plugin that keeps the whole contract, for a minimal format. Each file next to it defines one of the
 * macros below and so breaks one rule; the conformance kit must find the fault with the corresponding check.
 *
 *     header   "flt!" | width 2 | height 2, big-endian | channels 1: 3 or 4
 *     pixels   row by row from the top
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <coder_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MANIFEST_THREADS
#define MANIFEST_THREADS "0"
#endif
#ifdef ENCODES_ITEMS
#define MANIFEST_ROLES ", \"items\", \"encode-items\""
#define MORE_ROLES     (CPI_CODER_ITEMS | CPI_CODER_ENCODE_ITEMS)
#define HAS_ITEMS      0
#elif defined ITEM_ROLE
#define MANIFEST_ROLES ", \"items\""
#define MORE_ROLES     CPI_CODER_ITEMS
#ifndef HAS_ITEMS
#define HAS_ITEMS CPI_IMAGE_ITEMS
#endif
#else
#define HAS_ITEMS 0
#endif
#if defined REWRITES && defined ITEM_ROLE
#undef MANIFEST_ROLES
#undef MORE_ROLES
#define MANIFEST_ROLES ", \"items\", \"rewrite\""
#define MORE_ROLES     (CPI_CODER_ITEMS | CPI_CODER_REWRITE)
#elif defined REWRITES
#define MANIFEST_ROLES ", \"rewrite\""
#define MORE_ROLES     CPI_CODER_REWRITE
#endif
#ifndef OUTCOME_FLAGS
#define OUTCOME_FLAGS 0
#endif
#ifndef KEPT_WIDTH
#define KEPT_WIDTH(width) (width)
#endif
#ifndef OFFER_FLAGS /* of the formats that the encoder accepts */
#define OFFER_FLAGS 0
#endif
#ifndef BLOB_KIND
#define BLOB_KIND CPI_BLOB_RAW
#endif
#ifndef COPIES_TEXT
#define COPIES_TEXT 1
#endif
#ifdef TRANSCODES
#define MANIFEST_ROLES ", \"transcode\"], \"transcodes\": [\"pam\""
#define MORE_ROLES     CPI_CODER_TRANSCODE
#endif
#ifndef MANIFEST_ROLES
#define MANIFEST_ROLES ""
#define MORE_ROLES     0
#endif
#ifndef CONCURRENCY
#define CONCURRENCY CPI_CONCURRENCY_ANY
#endif
#ifndef MANIFEST_VERSION
#define MANIFEST_VERSION "1.0.0"
#endif
#ifndef MANIFEST_METADATA
#define MANIFEST_METADATA ""
#endif
#ifndef SIGNATURE
#define SIGNATURE "666c7421"
#endif
CPI_MANIFEST("{ \"schema\": 1, \"plugin\": { \"id\": \"org.example.faulty-plugin\", \"version\": \"" MANIFEST_VERSION "\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": 0, \"minor_needed\": 0 }, \"concurrency\": \"any\","
    " \"isolation\": { \"threads\": " MANIFEST_THREADS " }, \"coders\": [ { \"id\": \"org.example.faulty\","
    " \"roles\": [\"decode\", \"encode\", \"incremental\"" MANIFEST_ROLES "], \"metadata\": [" MANIFEST_METADATA "],"
    " \"formats\": [ { \"id\": \"faulty\", \"extensions\": [\"flt\"],"
    " \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"" SIGNATURE "\" } ] } ] } ] } ] }");

/* Places for faults: statements, empty in the correct plugin. */
#ifndef ON_INIT
#define ON_INIT
#endif
#ifndef ON_OPEN
#define ON_OPEN
#endif
#ifndef ON_CLOSE
#define ON_CLOSE
#endif
#ifndef ON_UNKNOWN_OPTION /* `services` */
#define ON_UNKNOWN_OPTION
#endif
#ifndef ON_SET_SOURCE
#define ON_SET_SOURCE
#endif
#ifndef ON_DECODE
#define ON_DECODE
#endif
#ifndef AFTER_ROW /* `row` and `bytes` */
#define AFTER_ROW
#endif
#ifndef AFTER_DECODE
#define AFTER_DECODE
#endif
#ifndef CHANGE_INFO /* `info`, a result for the host */
#define CHANGE_INFO
#endif
#ifndef CHANGE_FRAME /* `frame`, a result for the host */
#define CHANGE_FRAME
#endif
#ifndef AFTER_IMAGE /* statements with `e` and `error`, after the last row of an encoded image */
#define AFTER_IMAGE
#endif
/* Wrong results. */
#ifndef POLL
#define POLL(services) ((services)->poll((services)->ctx))
#endif
#ifndef FRAME_WIDTH
#define FRAME_WIDTH(width) (width)
#endif
#ifndef FRAME_X
#define FRAME_X 0
#endif
#ifndef SOURCE_ANSWER
#define SOURCE_ANSWER CPI_OK
#endif
#ifndef LOOKS_AT_REGION
#define LOOKS_AT_REGION 1
#endif
#ifndef BANDS /* whether it decodes in bands of rows */
#define BANDS 0
#endif
#ifndef PART_X /* the first column of a part, and the image row for row `y` of a part */
#define PART_X part.x
#endif
#ifndef PART_Y
#define PART_Y (part.y + y)
#endif
#ifndef KEEPS_REFUSAL
#define KEEPS_REFUSAL 0
#endif
#ifndef WRITES_ITEM /* whether it writes item `number`, from 1; 0 is an image that is no item */
#define WRITES_ITEM(number) 1
#endif
#ifndef BAND_HEADER /* the header bytes of a file written in bands */
#define BAND_HEADER HEADER_BYTES
#endif
#ifndef PAINTED /* a task's result for a sample, by `thread` */
#define PAINTED(value, thread) (value)
#endif
#ifndef COPIED /* a rewrite's result for byte `at` of an image */
#define COPIED(value, at) (value)
#endif
#ifndef REMOVES_TEXT
#define REMOVES_TEXT 1
#endif
#ifndef WHEN_CUT /* a rewrite's reaction to a truncated image */
#define WHEN_CUT return fail(NULL, error, CPI_TRUNCATED, "the image ends too early");
#endif
#ifndef UNPACKED /* the number of packed bytes that are restored */
#define UNPACKED(count) (count)
#endif
#ifndef DIRTY_STATES
#define DIRTY_STATES (FRAME | DECODED)
#endif
#ifndef KEEPS_LIMITS
#define KEEPS_LIMITS 1
#endif
#ifndef KEEPS_FAILURE
#define KEEPS_FAILURE 1
#endif
#ifndef RELEASES
#define RELEASES 1
#endif
#ifndef SURVIVES_NO_MEMORY
#define SURVIVES_NO_MEMORY 1
#endif
#ifndef SAMPLE
#define SAMPLE(value) (value)
#endif
#ifndef WHEN_SHORT /* the status for a truncated file */
#define WHEN_SHORT CPI_TRUNCATED
#endif
#ifndef STRUCT_SIZE /* the bytes to fill of a host's struct */
#define STRUCT_SIZE(theirs, ours) ((theirs) < (ours) ? (theirs) : (ours))
#endif
#ifndef EXTENSION
#define EXTENSION(id) NULL
#endif
#ifndef FRAMES /* the number of frames */
#define FRAMES 1
#endif
#ifndef TOO_MANY_FRAMES /* the status if fewer are allowed */
#define TOO_MANY_FRAMES(d, error)                                                                                      \
    fail_limit(&(d)->base, error, CPI_LIMIT, "too many frames", CPI_LIMIT_FRAMES, (d)->base.limits.max_frames, FRAMES)
#endif
#ifndef REPORTED_VERSION
#define REPORTED_VERSION MANIFEST_VERSION
#endif

enum { HEADER_BYTES = 9, ROWS_PER_POLL = 64 };
enum { OPENED = 1, SOURCED = 2, HEADER = 4, FRAME = 8, DECODED = 16, BEGUN = 32, FRAMED = 64, FINISHED = 128 };

typedef struct session {
    const cpi_services *services;
    cpi_limits          limits;
    unsigned            state;
    cpi_error           failure;
} session;

static void copy_struct(void *to, const void *from) {
    uint32_t theirs, ours;
    memcpy(&theirs, to, sizeof theirs);
    memcpy(&ours, from, sizeof ours);
    uint32_t count = STRUCT_SIZE(theirs, ours);
    if (count > 4) memcpy((char *)to + 4, (const char *)from + 4, count - 4);
}

/* Reads a struct of the host, which may be shorter. */
static void read_struct(void *to, uint32_t ours, const void *from) {
    uint32_t theirs;
    memcpy(&theirs, from, sizeof theirs);
    memset(to, 0, ours);
    memcpy(to, from, theirs < ours ? theirs : ours);
}

static cpi_status fail_limit(session *s, cpi_error *error, cpi_status code, const char *text, uint32_t id,
                             uint64_t allowed, uint64_t requested) {
    cpi_error failure = {.size = sizeof failure, .code = code, .limit_id = id, .limit_allowed = allowed,
                         .limit_requested = requested};
    snprintf(failure.message, sizeof failure.message, "%s", text);
    copy_struct(error, &failure);
    if (s && KEEPS_FAILURE && (code < 0 || KEEPS_REFUSAL)) s->failure = failure;
    return code;
}

static cpi_status fail(session *s, cpi_error *error, cpi_status code, const char *text) {
    return fail_limit(s, error, code, text, 0, 0, 0);
}

static cpi_status enter(session *s, unsigned states, cpi_error *error) {
    if (s->failure.code != 0) {
        copy_struct(error, &s->failure);
        return s->failure.code;
    }
    return s->state & states ? CPI_OK : fail(s, error, CPI_MISUSE, "the call is out of sequence");
}

static cpi_status go_on(session *s, cpi_error *error) {
    cpi_status answer = POLL(s->services);
    return answer == CPI_CONTINUE ? CPI_OK : fail(s, error, answer, "the host asked to stop");
}

static cpi_status check_options(const cpi_services *services, const cpi_options *options, cpi_error *error) {
    (void)services;
    for (uint32_t i = 0; options && i < options->count; i++) {
        const cpi_option *option = (const void *)((const char *)options->items + i * options->stride);
        if (option->flags & CPI_OPTION_HINT) continue;
        ON_UNKNOWN_OPTION
        return fail(NULL, error, CPI_INVALID_ARGUMENT, "there are no options");
    }
    return CPI_OK;
}

static void *open_session(size_t count, const cpi_services *services, const cpi_limits *limits,
                          const cpi_options *options, cpi_status *status, cpi_error *error) {
    if ((*status = check_options(services, options, error)) != CPI_OK) return NULL;
    ON_OPEN
    session *s = services->allocate(services->ctx, count);
    if (!s && SURVIVES_NO_MEMORY) {
        *status = fail(NULL, error, CPI_NO_MEMORY, "no memory for a session");
        return NULL;
    }
    memset(s, 0, count);
    s->services = services;
    s->state    = OPENED;
    read_struct(&s->limits, sizeof s->limits, limits);
    return s;
}

static void close_session(session *s) {
    ON_CLOSE
    if (RELEASES) s->services->release(s->services->ctx, s);
}

static const cpi_pixel_format rgb = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0};
static const cpi_pixel_format rgba = {CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_STRAIGHT, 0, 0, 0};

#include "decoding.h"
#include "encoding.h"

/* ---- the plugin -------------------------------------------------------------------------------------------------- */

static const cpi_coder the_coder = {
    .size = sizeof(cpi_coder), .roles = CPI_CODER_DECODE | CPI_CODER_ENCODE | CPI_CODER_INCREMENTAL | MORE_ROLES,
    .id = "org.example.faulty", .decoder = &decoder_api, .encoder = &encoder_api,
};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &the_coder : NULL; }
static const void      *get(const char *id) { return (void)id, EXTENSION(id); }

static cpi_status init(cpi_error *error) {
    (void)error;
    ON_INIT
    return CPI_OK;
}

static const cpi_plugin plugin = {
    .size = sizeof(cpi_plugin), .abi_minor_built = CPI_TARGET_MINOR, .abi_minor_needed = 0, .concurrency = CONCURRENCY,
    .id = "org.example.faulty-plugin", .version = REPORTED_VERSION, .coder_count = 1, .coder = coder, .init = init,
    .get = get,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
#ifdef PARALLEL
    threads = host->get ? host->get(host->ctx, CPI_EXT_PARALLEL) : NULL;
#endif
    return &plugin;
}
