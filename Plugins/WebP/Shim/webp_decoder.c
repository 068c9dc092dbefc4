/* webp_decoder.c - see webp_shim.h. SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int32_t webps_status_of(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_OK:                  return WEBPS_OK;
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:     return WEBPS_NEEDS_INPUT;
    case VP8_STATUS_OUT_OF_MEMORY:       return WEBPS_NO_MEMORY;
    case VP8_STATUS_UNSUPPORTED_FEATURE: return WEBPS_UNSUPPORTED;
    case VP8_STATUS_INVALID_PARAM:       return WEBPS_MISUSE;
    default:                             return WEBPS_CORRUPT;
    }
}

struct webps_decoder {
    WebPDecoderConfig config; /* the library keeps pointers into it */
    WebPIDecoder     *incremental;
    webps_reducer    *reducer; /* NULL: the library writes the pixels */
};

/* Sets the library's defaults, for decoding into the caller's memory; 0 if the sizes do not fit. */
static int configure(WebPDecoderConfig *config, uint32_t format, uint8_t *pixels, size_t stride, uint32_t width,
                     uint32_t height) {
    static const WEBP_CSP_MODE modes[] = {
        [WEBPS_RGB] = MODE_RGB,
        [WEBPS_RGBA] = MODE_RGBA,
        [WEBPS_BGRA] = MODE_BGRA,
        [WEBPS_RGBA_PREMULTIPLIED] = MODE_rgbA,
        [WEBPS_BGRA_PREMULTIPLIED] = MODE_bgrA,
    };
    if (format < WEBPS_RGB || format > WEBPS_BGRA_PREMULTIPLIED || stride > INT_MAX) return 0;
    if (!WebPInitDecoderConfig(config)) return 0;
    config->output.colorspace = modes[format];
    config->output.is_external_memory = 1;
    config->output.u.RGBA.rgba = pixels;
    config->output.u.RGBA.stride = (int)stride;
    config->output.u.RGBA.size = stride * (height - 1) + (size_t)width * (format == WEBPS_RGB ? 3 : 4);
    return 1;
}

/* Begins with the options of the configuration. */
static webps_decoder *begin(webps_decoder *d, int32_t threads) {
    d->config.options.use_threads = threads ? 1 : 0;
    d->incremental = WebPIDecode(NULL, 0, &d->config);
    if (d->incremental) return d;
    webps_decoder_free(d);
    return NULL;
}

static webps_decoder *allocate(uint32_t format, uint8_t *pixels, size_t stride, uint32_t width, uint32_t height) {
    webps_decoder *d = calloc(1, sizeof *d);
    if (!d || configure(&d->config, format, pixels, stride, width, height)) return d;
    free(d);
    return NULL;
}

webps_decoder *webps_decoder_new(uint32_t format, uint8_t *pixels, size_t stride, uint32_t width, uint32_t height,
                                 int32_t scales, int32_t threads) {
    webps_decoder *d = allocate(format, pixels, stride, width, height);
    if (!d) return NULL;
    if (scales) {
        d->config.options.use_scaling = 1;
        d->config.options.scaled_width = (int)width;
        d->config.options.scaled_height = (int)height;
    }
    return begin(d, threads);
}

webps_decoder *webps_decoder_new_part(uint32_t format, uint8_t *pixels, size_t stride, const webps_part *part,
                                      int32_t threads) {
    webps_decoder *d = allocate(format, pixels, stride, part->width, part->height);
    if (!d) return NULL;
    d->config.options.use_cropping = 1;
    d->config.options.crop_left = (int)part->x;
    d->config.options.crop_top = (int)part->y;
    d->config.options.crop_width = (int)part->width;
    d->config.options.crop_height = (int)part->height;
    return begin(d, threads);
}

webps_decoder *webps_decoder_new_reduced(const webps_reduction *wanted, int32_t threads) {
    webps_decoder *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    d->reducer = webps_reducer_new(wanted);
    if (!d->reducer || !WebPInitDecoderConfig(&d->config)) {
        webps_reducer_free(d->reducer);
        free(d);
        return NULL;
    }
    d->config.output.colorspace = MODE_YUV;
    d->config.output.is_external_memory = 1;
    webps_reducer_lend(d->reducer, &d->config.output.u.YUVA);
    /* The library does the same before its own scaler: block edges are not visible in means of several samples. */
    d->config.options.bypass_filtering =
        wanted->width < wanted->source_width * 3 / 4 && wanted->height < wanted->source_height * 3 / 4;
    return begin(d, threads);
}

void webps_decoder_free(webps_decoder *d) {
    if (!d) return;
    WebPIDelete(d->incremental);
    WebPFreeDecBuffer(&d->config.output);
    webps_reducer_free(d->reducer);
    free(d);
}

int32_t webps_decoder_update(webps_decoder *d, const uint8_t *bytes, size_t count, uint32_t *rows) {
    VP8StatusCode code = WebPIUpdate(d->incremental, bytes, count);
    int           last = 0;
    if (d->reducer) {
        int complete = 0;
        if (WebPIDecGetYUVA(d->incremental, &last, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) && last > 0) {
            complete = webps_reducer_take(d->reducer, (uint32_t)last, rows);
        }
        /* The image is smaller than the header in front of it declared. */
        if (code == VP8_STATUS_OK && !complete) return WEBPS_CORRUPT;
    } else if (WebPIDecGetRGB(d->incremental, &last, NULL, NULL, NULL) && last > 0) *rows = (uint32_t)last;
    /* The image has another size than the header in front of it declared, so the pixels do not fit. */
    if (code == VP8_STATUS_INVALID_PARAM) return WEBPS_CORRUPT;
    return webps_status_of(code);
}

int32_t webps_decode(const uint8_t *bytes, size_t count, uint32_t format, uint8_t *pixels, size_t stride,
                     uint32_t width, uint32_t height) {
    WebPDecoderConfig config;
    if (!configure(&config, format, pixels, stride, width, height)) return WEBPS_MISUSE;
    VP8StatusCode code = WebPDecode(bytes, count, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_INVALID_PARAM) return WEBPS_CORRUPT;
    return webps_status_of(code);
}

void webps_make_opaque(uint8_t *pixels, size_t stride, uint32_t width, uint32_t rows) {
    for (uint32_t y = 0; y < rows; y++, pixels += stride)
        for (uint32_t x = 0; x < width; x++) pixels[4 * (size_t)x + 3] = 0xFF;
}

/* The GNU allocator returns the end of its heap to the kernel if it is larger than twice the largest mapped block ever
   freed. Without such a block, every frame of an animation faults its pages again: 4 % of the decoding time of lossy
   frames with alpha. */
void webps_expect(size_t bytes) {
    void *volatile block = malloc(bytes);
    free(block);
}
