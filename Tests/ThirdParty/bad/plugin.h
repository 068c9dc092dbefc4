/*
 * plugin.h - a correct plugin for a format of four bytes: "BAD!" is an image of 2 x 2 pixels of one color. Each file
 * next to it defines one of the macros below and so introduces one fault.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(words) #words
#define TEXT(words)    TEXT_OF(words)

/* The plugin's name; on the command line as -DNAME=first, without quotes. */
#ifndef NAME
#define NAME bad
#endif
#ifndef PLUGIN_ID
#define PLUGIN_ID "org.example." TEXT(NAME) "-plugin"
#endif
#define CODER_ID  "org.example." TEXT(NAME)

/* The content of the manifest. */
#ifndef MANIFEST_CODER
#define MANIFEST_CODER CODER_ID
#endif
#ifndef MANIFEST_ROLES
#define MANIFEST_ROLES "\"decode\""
#endif
#ifndef MANIFEST_VERSION
#define MANIFEST_VERSION "1.0.0"
#endif
#ifndef MANIFEST_MORE_CODERS
#define MANIFEST_MORE_CODERS ""
#endif
#ifndef MANIFEST_ISOLATION /* an object */
#define MANIFEST_ISOLATION "{}"
#endif
#ifndef PRIORITY
#define PRIORITY 100
#endif
#ifndef FORMAT
#define FORMAT bad
#endif
#ifndef SIGNATURE
#define SIGNATURE 42414421
#endif
#ifndef ABI_MAJOR
#define ABI_MAJOR 1
#endif
#ifndef MINOR_NEEDED
#define MINOR_NEEDED 0
#endif
#define FORMATS                                                                                                       \
    "\"formats\": [ { \"id\": \"" TEXT(FORMAT) "\", \"extensions\": [\"" TEXT(FORMAT) "\"],"                          \
    " \"signatures\": [ { \"all\": [ { \"at\": 0, \"bytes\": \"" TEXT(SIGNATURE) "\" } ] } ] } ]"
#ifndef MANIFEST
#define MANIFEST                                                                                                      \
    "{ \"schema\": 1, \"plugin\": { \"id\": \"" PLUGIN_ID "\", \"version\": \"" MANIFEST_VERSION "\" },"              \
    " \"abi\": { \"major\": " TEXT(ABI_MAJOR) ", \"minor_built\": " TEXT(CPI_TARGET_MINOR) ","                        \
    " \"minor_needed\": " TEXT(MINOR_NEEDED) " }, \"isolation\": " MANIFEST_ISOLATION ","                             \
    " \"coders\": [ { \"id\": \"" MANIFEST_CODER "\","                                                                \
    " \"roles\": [" MANIFEST_ROLES "], \"priority\": " TEXT(PRIORITY) ", " FORMATS " }" MANIFEST_MORE_CODERS " ] }"
#endif
#ifndef NO_MANIFEST
CPI_MANIFEST(MANIFEST);
#endif

/* The behavior of the plugin. */
#ifndef WIDTH
#define WIDTH 2
#endif
#ifndef HEIGHT
#define HEIGHT 2
#endif
#ifndef COLOR /* 0xRRGGBB */
#define COLOR 0xff0000
#endif
#ifndef ANSWER /* the status of every call that may fail, after open */
#define ANSWER CPI_OK
#endif
#ifndef PAINTS
#define PAINTS 1
#endif
#ifndef HAS_FRAME
#define HAS_FRAME(index) ((index) == 0)
#endif
#ifndef DECODER_SIZE
#define DECODER_SIZE sizeof(cpi_decoder_api)
#endif
#ifndef CODER_SIZE
#define CODER_SIZE sizeof(cpi_coder)
#endif
#ifndef PLUGIN_SIZE
#define PLUGIN_SIZE sizeof(cpi_plugin)
#endif
#ifndef EXTENSION /* the answer to every extension id */
#define EXTENSION NULL
#endif
#ifndef INIT
#define INIT NULL
#endif
#ifndef BLOB /* the function that delivers metadata */
#define BLOB NULL
#endif
#ifndef DIRTY /* the function that reports the part changed by the last decode */
#define DIRTY NULL
#endif
#ifndef DECODE_ANSWER
#define DECODE_ANSWER ANSWER
#endif
#ifndef HEADER_ANSWER
#define HEADER_ANSWER ANSWER
#endif
#ifndef FRAME_ANSWER
#define FRAME_ANSWER ANSWER
#endif
#ifndef SOURCE_ANSWER
#define SOURCE_ANSWER CPI_OK
#endif
#ifndef OFFER
#define OFFER NULL
#endif
#ifndef CONCURRENCY
#define CONCURRENCY CPI_CONCURRENCY_ANY
#endif
/* Statements that may change `info`, `frame` and `decoder`, the host's results. */
#ifndef CHANGE_INFO
#define CHANGE_INFO
#endif
#ifndef CHANGE_FRAME
#define CHANGE_FRAME
#endif
#ifndef BEFORE_OPEN
#define BEFORE_OPEN
#endif
#ifndef BEFORE_DECODE
#define BEFORE_DECODE
#endif

static cpi_status answer(cpi_error *error, cpi_status status) {
    if (status < 0) {
        error->code = status;
        snprintf(error->message, sizeof error->message, "this plugin answers %d", status);
    }
    return status;
}

struct cpi_decoder {
    const cpi_services *services;
    uint32_t            frame;
};

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder, (void)limits, (void)options;
    BEFORE_OPEN
    *decoder = services->allocate(services->ctx, sizeof **decoder);
    if (!*decoder) return answer(error, CPI_NO_MEMORY);
    **decoder = (cpi_decoder){services, 0};
    return CPI_OK;
}

static void close_decoder(cpi_decoder *d) { d->services->release(d->services->ctx, d); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    (void)d, (void)source;
    return answer(error, SOURCE_ANSWER);
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    (void)d;
    info->flags       = HAS_FRAME(1) ? CPI_IMAGE_ANIMATED : 0;
    info->width       = WIDTH;
    info->height      = HEIGHT;
    info->bit_depth   = 8;
    info->frame_count = HAS_FRAME(1) ? 0 : 1;
    info->native      = (cpi_pixel_format){CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 8, CPI_ALPHA_NONE, 0, 0, 0};
    CHANGE_INFO
    return answer(error, HEADER_ANSWER);
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    if (!(HAS_FRAME(d->frame))) return CPI_END;
    frame->flags    = CPI_FRAME_INDEPENDENT;
    frame->index    = d->frame++;
    frame->rect     = (cpi_rect){0, 0, WIDTH, HEIGHT};
    frame->duration = (cpi_rational){HAS_FRAME(1) ? 1 : 0, HAS_FRAME(1) ? 10 : 0};
    CHANGE_FRAME
    return answer(error, FRAME_ANSWER);
}

static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    (void)d;
    const cpi_surface *surface = request->surface;
    BEFORE_DECODE
    for (uint32_t y = 0; PAINTS && y < surface->height; y++) {
        uint8_t *row = surface->pixels + y * surface->stride;
        for (uint32_t x = 0; x < surface->width; x++, row += 3) {
            row[0] = COLOR >> 16 & 255, row[1] = COLOR >> 8 & 255, row[2] = COLOR & 255;
        }
    }
    return answer(error, DECODE_ANSWER);
}

static const void *extension_of_decoder(cpi_decoder *d, const char *id) { return (void)d, (void)id, EXTENSION; }
static const void *extension(const char *id) { return (void)id, EXTENSION; }

static const cpi_decoder_api decoder_api = {
    .size = DECODER_SIZE, .open = open_decoder, .close = close_decoder, .set_source = set_source,
    .read_header = read_header, .blob = BLOB, .offer = OFFER, .next_frame = next_frame, .decode = decode,
    .get = extension_of_decoder,
    .dirty = DIRTY,
};
static const cpi_coder the_coder = {.size = CODER_SIZE, .roles = CPI_CODER_DECODE, .id = CODER_ID,
                                    .decoder = &decoder_api};

static const cpi_coder *coder(uint32_t index) { return index == 0 ? &the_coder : NULL; }

static const cpi_plugin plugin = {
    .size = PLUGIN_SIZE, .abi_minor_built = CPI_TARGET_MINOR, .abi_minor_needed = MINOR_NEEDED, .id = PLUGIN_ID,
    .concurrency = CONCURRENCY, .version = "1.0.0", .coder_count = 1, .coder = coder, .init = INIT, .get = extension,
};

#ifndef OWN_ENTRY
const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
#endif
