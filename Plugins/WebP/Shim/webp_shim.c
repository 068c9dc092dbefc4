#include "internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

/* ---- the container ---- */

int32_t webps_read_features(const uint8_t *bytes, size_t count, webps_features *features) {
    WebPBitstreamFeatures f;
    VP8StatusCode         code = WebPGetFeatures(bytes, count, &f);
    if (code != VP8_STATUS_OK) return webps_status_of(code);
    features->width = (uint32_t)f.width;
    features->height = (uint32_t)f.height;
    features->has_alpha = f.has_alpha ? 1 : 0;
    features->has_animation = f.has_animation ? 1 : 0;
    features->is_lossless = f.format == 2 ? 1 : 0;
    return WEBPS_OK;
}

int32_t webps_first_frame(const uint8_t *bytes, size_t count, webps_frame *frame) {
    WebPData       data = {bytes, count};
    WebPDemuxState state;
    WebPDemuxer   *demuxer = WebPDemuxPartial(&data, &state);
    if (!demuxer) return state == WEBP_DEMUX_PARSE_ERROR ? WEBPS_CORRUPT : WEBPS_NEEDS_INPUT;
    WebPIterator it;
    int32_t      status = state == WEBP_DEMUX_DONE ? WEBPS_CORRUPT : WEBPS_NEEDS_INPUT;
    if (WebPDemuxGetFrame(demuxer, 1, &it)) {
        frame->x = (uint32_t)it.x_offset;
        frame->y = (uint32_t)it.y_offset;
        frame->width = (uint32_t)it.width;
        frame->height = (uint32_t)it.height;
        frame->has_alpha = it.has_alpha ? 1 : 0;
        frame->is_complete = it.complete ? 1 : 0;
        frame->offset = (uint64_t)(it.fragment.bytes - bytes);
        frame->size = it.fragment.size;
        WebPDemuxReleaseIterator(&it);
        status = WEBPS_OK;
    }
    WebPDemuxDelete(demuxer);
    return status;
}

int32_t webps_find_chunk(const uint8_t *bytes, size_t count, const char *fourcc, uint64_t *offset, uint64_t *size) {
    WebPData       data = {bytes, count};
    WebPDemuxState state;
    WebPDemuxer   *demuxer = WebPDemuxPartial(&data, &state);
    if (!demuxer) return 0;
    WebPChunkIterator it;
    int32_t           found = 0;
    if (WebPDemuxGetChunk(demuxer, fourcc, 1, &it)) {
        *offset = (uint64_t)(it.chunk.bytes - bytes);
        *size = it.chunk.size;
        WebPDemuxReleaseChunkIterator(&it);
        found = 1;
    }
    WebPDemuxDelete(demuxer);
    return found;
}

/* ---- encoding ---- */

typedef struct chunk {
    char     fourcc[4];
    uint8_t *bytes;
    size_t   count;
} chunk;

#define MAX_CHUNKS 3

struct webps_encoder {
    WebPConfig      config;
    webps_callbacks callbacks;
    chunk           chunks[MAX_CHUNKS];
    int             chunk_count;
};

webps_encoder *webps_encoder_new(const webps_callbacks *callbacks) {
    webps_encoder *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->callbacks = *callbacks;
    if (!WebPConfigInit(&e->config)) {
        free(e);
        return NULL;
    }
    return e;
}

void webps_encoder_free(webps_encoder *e) {
    if (!e) return;
    for (int i = 0; i < e->chunk_count; i++) free(e->chunks[i].bytes);
    free(e);
}

#define INTEGERS(X)                                                                                    \
    X(WEBPS_LOSSLESS, lossless)                                                                        \
    X(WEBPS_METHOD, method)                                                                            \
    X(WEBPS_TARGET_SIZE, target_size)                                                                  \
    X(WEBPS_SEGMENTS, segments)                                                                        \
    X(WEBPS_SNS_STRENGTH, sns_strength)                                                                \
    X(WEBPS_FILTER_STRENGTH, filter_strength)                                                          \
    X(WEBPS_FILTER_SHARPNESS, filter_sharpness)                                                        \
    X(WEBPS_FILTER_TYPE, filter_type)                                                                  \
    X(WEBPS_AUTOFILTER, autofilter)                                                                    \
    X(WEBPS_ALPHA_COMPRESSION, alpha_compression)                                                      \
    X(WEBPS_ALPHA_FILTERING, alpha_filtering)                                                          \
    X(WEBPS_ALPHA_QUALITY, alpha_quality)                                                              \
    X(WEBPS_PASS, pass)                                                                                \
    X(WEBPS_SHOW_COMPRESSED, show_compressed)                                                          \
    X(WEBPS_PREPROCESSING, preprocessing)                                                              \
    X(WEBPS_PARTITIONS, partitions)                                                                    \
    X(WEBPS_PARTITION_LIMIT, partition_limit)                                                          \
    X(WEBPS_THREAD_LEVEL, thread_level)                                                                \
    X(WEBPS_LOW_MEMORY, low_memory)                                                                    \
    X(WEBPS_NEAR_LOSSLESS, near_lossless)                                                              \
    X(WEBPS_EXACT, exact)                                                                              \
    X(WEBPS_USE_SHARP_YUV, use_sharp_yuv)

void webps_encoder_set(webps_encoder *e, uint32_t knob, double value) {
    /* Values that do not fit an int stay illegal: no member accepts INT_MIN. */
    int integer = value >= INT_MIN && value <= INT_MAX ? (int)value : INT_MIN;
    switch (knob) {
    case WEBPS_QUALITY:     e->config.quality = (float)value; break;
    case WEBPS_TARGET_PSNR: e->config.target_PSNR = (float)value; break;
#define SET(name, member) case name: e->config.member = integer; break;
    INTEGERS(SET)
#undef SET
    default: break;
    }
}

double webps_encoder_get(const webps_encoder *e, uint32_t knob) {
    switch (knob) {
    case WEBPS_QUALITY:     return e->config.quality;
    case WEBPS_TARGET_PSNR: return e->config.target_PSNR;
#define GET(name, member) case name: return e->config.member;
    INTEGERS(GET)
#undef GET
    default: return 0;
    }
}

int32_t webps_encoder_is_valid(const webps_encoder *e) { return WebPValidateConfig(&e->config) ? 1 : 0; }

int32_t webps_encoder_chunk(webps_encoder *e, const char *fourcc, const uint8_t *bytes, size_t count) {
    if (e->chunk_count == MAX_CHUNKS) return WEBPS_MISUSE;
    chunk *c = &e->chunks[e->chunk_count];
    c->bytes = malloc(count ? count : 1);
    if (!c->bytes) return WEBPS_NO_MEMORY;
    memcpy(c->fourcc, fourcc, 4);
    if (count) memcpy(c->bytes, bytes, count);
    c->count = count;
    e->chunk_count++;
    return WEBPS_OK;
}

static int write_through(const uint8_t *bytes, size_t count, const WebPPicture *image) {
    const webps_encoder *e = image->custom_ptr;
    return e->callbacks.write(e->callbacks.context, bytes, count) == 0;
}

static int report_progress(int percent, const WebPPicture *image) {
    const webps_encoder *e = image->user_data;
    return e->callbacks.progress(e->callbacks.context, percent) == 0;
}

/* Returns the status of a failed encoder. If a writer refuses data, the library may end without a reason. */
static int32_t encoding_status(WebPEncodingError code) {
    switch (code) {
    case VP8_ENC_ERROR_OUT_OF_MEMORY:
    case VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY: return WEBPS_NO_MEMORY;
    case VP8_ENC_ERROR_INVALID_CONFIGURATION:
    case VP8_ENC_ERROR_BAD_DIMENSION:           return WEBPS_INVALID;
    case VP8_ENC_ERROR_PARTITION0_OVERFLOW:
    case VP8_ENC_ERROR_PARTITION_OVERFLOW:      return WEBPS_TOO_COMPLEX;
    case VP8_ENC_ERROR_FILE_TOO_BIG:            return WEBPS_TOO_LARGE;
    case VP8_ENC_OK:
    case VP8_ENC_ERROR_BAD_WRITE:
    case VP8_ENC_ERROR_USER_ABORT:              return WEBPS_STOPPED;
    default:                                    return WEBPS_MISUSE;
    }
}

static int32_t import(WebPPicture *image, uint32_t format, const uint8_t *pixels, int stride) {
    int done = 0;
    switch (format) {
    case WEBPS_RGB:  done = WebPPictureImportRGB(image, pixels, stride); break;
    case WEBPS_RGBA: done = WebPPictureImportRGBA(image, pixels, stride); break;
    case WEBPS_BGRA: done = WebPPictureImportBGRA(image, pixels, stride); break;
    case WEBPS_RGBX: done = WebPPictureImportRGBX(image, pixels, stride); break;
    case WEBPS_BGRX: done = WebPPictureImportBGRX(image, pixels, stride); break;
    default:         return WEBPS_MISUSE;
    }
    return done ? WEBPS_OK : WEBPS_NO_MEMORY;
}

/* Writes the encoded image and the chunks into one file. */
static int32_t assemble(const webps_encoder *e, const WebPMemoryWriter *encoded) {
    WebPData image = {encoded->mem, encoded->size};
    WebPData file;
    WebPMux *mux = WebPMuxNew();
    if (!mux) return WEBPS_NO_MEMORY;
    WebPDataInit(&file);
    WebPMuxError code = WebPMuxSetImage(mux, &image, 0);
    for (int i = 0; code == WEBP_MUX_OK && i < e->chunk_count; i++) {
        WebPData data = {e->chunks[i].bytes, e->chunks[i].count};
        code = WebPMuxSetChunk(mux, e->chunks[i].fourcc, &data, 0);
    }
    if (code == WEBP_MUX_OK) code = WebPMuxAssemble(mux, &file);
    int32_t status = code == WEBP_MUX_OK ? WEBPS_OK : code == WEBP_MUX_MEMORY_ERROR ? WEBPS_NO_MEMORY : WEBPS_MISUSE;
    if (status == WEBPS_OK && e->callbacks.write(e->callbacks.context, file.bytes, file.size) != 0) {
        status = WEBPS_STOPPED;
    }
    WebPDataClear(&file);
    WebPMuxDelete(mux);
    return status;
}

int32_t webps_encoder_encode(webps_encoder *e, uint32_t format, const uint8_t *pixels, size_t stride, uint32_t width,
                             uint32_t height) {
    WebPPicture      image;
    WebPMemoryWriter memory;
    if (stride > INT_MAX) return WEBPS_INVALID;
    if (!WebPPictureInit(&image)) return WEBPS_MISUSE;
    WebPMemoryWriterInit(&memory);
    image.width = (int)width;
    image.height = (int)height;
    /* These two work on RGB; everything else is imported as the YUV it is coded in. */
    image.use_argb = e->config.lossless || e->config.use_sharp_yuv || e->config.preprocessing > 0;
    image.writer = e->chunk_count > 0 ? WebPMemoryWrite : write_through;
    image.custom_ptr = e->chunk_count > 0 ? (void *)&memory : (void *)e;
    image.progress_hook = report_progress;
    image.user_data = e;

    int32_t status = import(&image, format, pixels, (int)stride);
    if (status == WEBPS_OK && !WebPEncode(&e->config, &image)) status = encoding_status(image.error_code);
    if (status == WEBPS_OK && e->chunk_count > 0) status = assemble(e, &memory);
    WebPMemoryWriterClear(&memory);
    WebPPictureFree(&image);
    return status;
}

int32_t webps_encoder_encode_argb(webps_encoder *e, uint32_t *pixels, uint32_t stride, uint32_t width,
                                  uint32_t height) {
    WebPPicture image;
    if (!WebPPictureInit(&image)) return WEBPS_MISUSE;
    image.width = (int)width;
    image.height = (int)height;
    image.use_argb = 1;
    image.argb = pixels;
    image.argb_stride = (int)stride;
    image.writer = write_through;
    image.custom_ptr = e;
    image.progress_hook = report_progress;
    image.user_data = e;
    int32_t status = WebPEncode(&e->config, &image) ? WEBPS_OK : encoding_status(image.error_code);
    WebPPictureFree(&image); /* frees the library's memory; the pixels belong to the caller */
    return status;
}
