// encode.cpp - encoding: converts the caller's rows to planes for libavif and aom.
//
// The newest converted frame is held back: only the next frame, or the end, shows whether it is the only one.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <cstdio>
#include <memory>
#include <new>

struct avif_shim_encoder {
    // Must be the first member: it outlives all objects of libavif.
    avif_shim::Memory memory;
    bool is_broken = false;
    avif_shim_settings settings = {};
    avifEncoder *encoder = nullptr;
    avifImage *image = nullptr;
    avifRWData blobs[3] = {};
    avifRWData output = {};
    // The duration of the frame that waits in `image`.
    uint64_t duration = 0;
    bool is_waiting = false;

    ~avif_shim_encoder()
    {
        const avif_shim::Use use(memory);
        for (avifRWData &blob : blobs) avifRWDataFree(&blob);
        avifRWDataFree(&output);
        if (image) avifImageDestroy(image);
        if (encoder) avifEncoderDestroy(encoder);
    }
};

namespace avif_shim {
namespace {

// Converts samples of In to `depth` bits, rounded.
template <class In, class Out> void fill(const avif_shim_pixels &pixels, uint32_t depth, avifImage &image)
{
    const uint32_t from = In(~In(0)), to = (1u << depth) - 1;
    for (uint32_t y = 0; y < pixels.height; y++) {
        const In *in = reinterpret_cast<const In *>(pixels.bytes + y * pixels.stride);
        Out *out = reinterpret_cast<Out *>(image.yuvPlanes[0] + uint64_t(y) * image.yuvRowBytes[0]);
        for (uint32_t x = 0; x < pixels.width; x++) out[x] = Out((uint64_t(in[x]) * to * 2 + from) / (2 * uint64_t(from)));
    }
}

avifResult fill_gray(const avif_shim_pixels &pixels, avifImage &image)
{
    if (avifResult result = avifImageAllocatePlanes(&image, AVIF_PLANES_YUV)) return result;
    if (pixels.bits == 8 && image.depth == 8) fill<uint8_t, uint8_t>(pixels, 8, image);
    else if (pixels.bits == 8) fill<uint8_t, uint16_t>(pixels, image.depth, image);
    else if (image.depth == 8) fill<uint16_t, uint8_t>(pixels, 8, image);
    else fill<uint16_t, uint16_t>(pixels, image.depth, image);
    return AVIF_RESULT_OK;
}

avifResult fill_planes(const avif_shim_pixels &pixels, avifImage &image)
{
    if (pixels.channels == 1) return fill_gray(pixels, image);
    avifRGBImage rgb = {};
    avifRGBImageSetDefaults(&rgb, &image);
    rgb.depth = pixels.bits;
    rgb.format = pixels.channels == 3 ? AVIF_RGB_FORMAT_RGB : AVIF_RGB_FORMAT_RGBA;
    rgb.alphaPremultiplied = pixels.premultiplied;
    // libyuv uses seven-bit weights.
    rgb.avoidLibYUV = AVIF_TRUE;
    rgb.pixels = const_cast<uint8_t *>(pixels.bytes);
    rgb.rowBytes = uint32_t(pixels.stride);
    return avifImageRGBToYUV(&image, &rgb);
}

avifImage *make_image(const avif_shim_encoder &encoder, const avif_shim_pixels &pixels)
{
    const avif_shim_settings &settings = encoder.settings;
    const avifPixelFormat format = settings.chroma == 400   ? AVIF_PIXEL_FORMAT_YUV400
                                   : settings.chroma == 420 ? AVIF_PIXEL_FORMAT_YUV420
                                   : settings.chroma == 422 ? AVIF_PIXEL_FORMAT_YUV422
                                                            : AVIF_PIXEL_FORMAT_YUV444;
    avifImage *image = avifImageCreate(pixels.width, pixels.height, settings.depth, format);
    if (!image) return nullptr;
    image->yuvRange = AVIF_RANGE_FULL;
    image->colorPrimaries = settings.primaries;
    image->transferCharacteristics = settings.transfer;
    image->matrixCoefficients = settings.matrix;
    image->alphaPremultiplied = pixels.premultiplied;
    // Not avifImageSetMetadataExif: that would also apply the Exif orientation.
    avifRWDataSet(&image->exif, encoder.blobs[0].data, encoder.blobs[0].size);
    avifImageSetMetadataXMP(image, encoder.blobs[1].data, encoder.blobs[1].size);
    avifImageSetProfileICC(image, encoder.blobs[2].data, encoder.blobs[2].size);
    return image;
}

void set_number(avifEncoder *encoder, const char *key, int value)
{
    char text[16];
    std::snprintf(text, sizeof text, "%d", value);
    avifEncoderSetCodecSpecificOption(encoder, key, text);
}

void configure(avifEncoder *encoder, const avif_shim_settings &settings)
{
    encoder->codecChoice = AVIF_CODEC_CHOICE_AOM;
    encoder->maxThreads = settings.threads;
    encoder->speed = 9 - settings.effort;
    // From speed 7 on, libavif uses aom's real-time settings for sequences. They compress worse, and libaom 3.6 aborts
    // the process for some images (an assertion in ratectrl.c).
    if (!settings.is_single && encoder->speed > 6) encoder->speed = 6;
    encoder->keyframeInterval = int(settings.key_interval);
    encoder->timescale = settings.timescale;
    encoder->minQuantizer = encoder->minQuantizerAlpha = 0;
    encoder->maxQuantizer = encoder->maxQuantizerAlpha = settings.lossless ? 0 : 63;
    if (settings.lossless) return;
    avifEncoderSetCodecSpecificOption(encoder, "end-usage", "q");
    // 0 ... 63; 63 is the lowest quality.
    set_number(encoder, "cq-level", ((100 - settings.quality) * 63 + 50) / 100);
    avifEncoderSetCodecSpecificOption(encoder, "tune", "ssim");
}

int32_t failure(avifResult result, avif_shim_encoder *encoder, avif_shim_error *error)
{
    report(result, encoder->encoder->diag.error, error);
    // Encoders never report corrupt input.
    if (error->code != avif_shim_memory) error->code = avif_shim_unsupported;
    return error->code;
}

avifResult flush(avif_shim_encoder *encoder, bool is_alone)
{
    if (!encoder->is_waiting) return AVIF_RESULT_OK;
    encoder->is_waiting = false;
    return avifEncoderAddImage(encoder->encoder, encoder->image, is_alone ? 1 : encoder->duration,
                               is_alone ? AVIF_ADD_IMAGE_FLAG_SINGLE : AVIF_ADD_IMAGE_FLAG_NONE);
}

}
}

using namespace avif_shim;

int32_t avif_shim_encoder_new(const avif_shim_settings *settings, avif_shim_encoder **encoder, avif_shim_error *error)
{
    std::unique_ptr<avif_shim_encoder> made(new (std::nothrow) avif_shim_encoder);
    if (!made) return report(avif_shim_memory, "there is not enough memory", error);
    return guarded(made->memory, made->is_broken, error, [&] {
        made->encoder = avifEncoderCreate();
        if (!made->encoder) return avif_shim_memory;
        made->settings = *settings;
        configure(made->encoder, *settings);
        *encoder = made.release();
        return avif_shim_ok;
    });
}

int32_t avif_shim_encoder_blob(avif_shim_encoder *encoder, uint32_t kind, const uint8_t *bytes, uint64_t count,
                               avif_shim_error *error)
{
    return guarded(encoder->memory, encoder->is_broken, error, [&] {
        if (kind >= 1 && kind <= 3) avifRWDataSet(&encoder->blobs[kind - 1], bytes, size_t(count));
        return avif_shim_ok;
    });
}

int32_t avif_shim_encoder_add(avif_shim_encoder *encoder, const avif_shim_pixels *pixels, uint64_t duration,
                              avif_shim_error *error)
{
    return guarded(encoder->memory, encoder->is_broken, error, [&] {
        avifResult result = flush(encoder, false);
        if (result != AVIF_RESULT_OK) return failure(result, encoder, error);
        if (!encoder->image) encoder->image = make_image(*encoder, *pixels);
        if (!encoder->image) return avif_shim_memory;
        result = fill_planes(*pixels, *encoder->image);
        if (result != AVIF_RESULT_OK) return failure(result, encoder, error);
        encoder->duration = duration;
        encoder->is_waiting = true;
        // A still is encoded at once.
        if (!encoder->settings.is_single) return avif_shim_ok;
        result = flush(encoder, true);
        return result == AVIF_RESULT_OK ? avif_shim_ok : failure(result, encoder, error);
    });
}

int32_t avif_shim_encoder_finish(avif_shim_encoder *encoder, uint8_t is_alone, const uint8_t **bytes, uint64_t *count,
                                 avif_shim_error *error)
{
    return guarded(encoder->memory, encoder->is_broken, error, [&] {
        avifResult result = flush(encoder, is_alone != 0);
        if (encoder->image) avifImageFreePlanes(encoder->image, AVIF_PLANES_ALL);
        if (result == AVIF_RESULT_OK) result = avifEncoderFinish(encoder->encoder, &encoder->output);
        if (result != AVIF_RESULT_OK) return failure(result, encoder, error);
        *bytes = encoder->output.data;
        *count = encoder->output.size;
        return avif_shim_ok;
    });
}

void avif_shim_encoder_free(avif_shim_encoder *encoder) { delete encoder; }
