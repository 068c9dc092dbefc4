// decode.cpp - decoding: libavif up to planes. write.cpp and rows.cpp convert them to pixels.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

struct avif_shim_decoder {
    // Must be the first member: it outlives libavif's decoder.
    avif_shim::Memory memory;
    bool is_broken = false;
    avifDecoder *decoder = nullptr;
    avifIO io = {};
    const uint8_t *bytes = nullptr;
    uint64_t count = 0;
    bool is_complete = false;
    // Bytes in front of the file; see avif_shim_prefix.
    std::unique_ptr<uint8_t[]> prefix;
    uint64_t prefix_count = 0;
    // The positions of box types that libavif shall see as 'free', and the changed copies that it has read.
    std::unique_ptr<uint64_t[]> hidden;
    uint32_t hidden_count = 0;
    struct Copy {
        std::unique_ptr<uint8_t[]> bytes;
        std::unique_ptr<Copy> next;
    };
    std::unique_ptr<Copy> copies;

    // Replaces a range of the file by a copy in which the hidden boxes are free; false if memory is short.
    bool conceal(uint64_t offset, avifROData *range);

    ~avif_shim_decoder()
    {
        if (!decoder) return;
        const avif_shim::Use use(memory);
        // After an exception, this may be an image that libavif has freed already.
        if (is_broken && !memory.holds(decoder->image)) decoder->image = nullptr;
        avifDecoderDestroy(decoder);
        // One by one: a long list must not recurse.
        while (copies) copies = std::move(copies->next);
    }
};

bool avif_shim_decoder::conceal(uint64_t offset, avifROData *range)
{
    static const uint8_t type[] = {'f', 'r', 'e', 'e'};
    uint8_t *copy = nullptr;
    for (uint32_t i = 0; i < hidden_count; i++) {
        for (uint32_t byte = 0; byte < sizeof type; byte++) {
            const uint64_t place = hidden[i] + byte;
            if (place < offset || place - offset >= range->size) continue;
            if (!copy) {
                std::unique_ptr<Copy> made(new (std::nothrow) Copy);
                if (!made) return false;
                made->bytes.reset(new (std::nothrow) uint8_t[range->size]);
                if (!made->bytes) return false;
                copy = made->bytes.get();
                std::copy(range->data, range->data + range->size, copy);
                made->next = std::move(copies);
                copies = std::move(made);
            }
            copy[place - offset] = type[byte];
        }
    }
    if (copy) range->data = copy;
    return true;
}

namespace avif_shim {

int32_t report(int32_t code, const char *message, avif_shim_error *error)
{
    error->code = code;
    std::strncpy(error->message, message ? message : "", sizeof error->message - 1);
    error->message[sizeof error->message - 1] = 0;
    return code;
}

namespace {

int32_t kind(avifResult result, const char *details)
{
    switch (result) {
    case AVIF_RESULT_OK: return avif_shim_ok;
    case AVIF_RESULT_WAITING_ON_IO: return avif_shim_waiting;
    case AVIF_RESULT_TRUNCATED_DATA:
    // libavif tried to read behind the end.
    case AVIF_RESULT_IO_ERROR: return avif_shim_truncated;
    case AVIF_RESULT_INVALID_FTYP: return avif_shim_not_mine;
    case AVIF_RESULT_OUT_OF_MEMORY: return avif_shim_memory;
    case AVIF_RESULT_NO_AV1_ITEMS_FOUND:
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
    case AVIF_RESULT_COLOR_ALPHA_SIZE_MISMATCH: return avif_shim_unsupported;
    default: break;
    }
    // libavif uses one error code for all of these.
    // "dimensions are too large" is a limit; "Child box too large" is damage.
    if (std::strstr(details, "are too large") || std::strstr(details, "imageSizeLimit")) return avif_shim_pixel_limit;
    if (std::strstr(details, "imageCountLimit")) return avif_shim_frame_limit;
    // Forbidden, but some writers write it and other readers accept it: a second box of the same kind.
    if (std::strstr(details, "[ipma] with a given pair")) return avif_shim_unsupported;
    // MIAF forbids such tiles, HEIF allows them.
    if (std::strstr(details, "cannot be smaller than 64")) return avif_shim_unsupported;
    return avif_shim_corrupt;
}

}

int32_t report(avifResult result, const char *details, avif_shim_error *error)
{
    return report(kind(result, details), *details ? details : avifResultToString(result), error);
}

namespace {

avifResult read(avifIO *io, uint32_t flags, uint64_t offset, size_t size, avifROData *out)
{
    const auto self = static_cast<avif_shim_decoder *>(io->data);
    if (flags != 0) return AVIF_RESULT_IO_ERROR;
    if (offset < self->prefix_count) {
        // libavif requests a box header together with the bytes behind it, which may be cut.
        out->data = self->prefix.get() + offset;
        out->size = std::min<uint64_t>(size, self->prefix_count - offset);
        return AVIF_RESULT_OK;
    }
    offset -= self->prefix_count;
    const uint64_t rest = offset < self->count ? self->count - offset : 0;
    if (size > rest) {
        if (!self->is_complete) return AVIF_RESULT_WAITING_ON_IO;
        if (offset > self->count) return AVIF_RESULT_IO_ERROR;
        size = size_t(rest);
    }
    out->data = self->bytes + (size ? offset : 0);
    out->size = size;
    return self->conceal(offset, out) ? AVIF_RESULT_OK : AVIF_RESULT_OUT_OF_MEMORY;
}

void describe(const avif_shim_decoder &decoder, avif_shim_facts *facts)
{
    const avifImage &image = *decoder.decoder->image;
    *facts = {};
    facts->width = image.width;
    facts->height = image.height;
    facts->depth = image.depth;
    facts->frames = uint32_t(decoder.decoder->imageCount);
    facts->chroma = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400   ? 400
                    : image.yuvFormat == AVIF_PIXEL_FORMAT_YUV420 ? 420
                    : image.yuvFormat == AVIF_PIXEL_FORMAT_YUV422 ? 422
                                                                  : 444;
    facts->full_range = image.yuvRange == AVIF_RANGE_FULL;
    facts->has_alpha = decoder.decoder->alphaPresent != 0;
    facts->premultiplied = image.alphaPremultiplied != 0;
    facts->turns = image.transformFlags & AVIF_TRANSFORM_IROT ? image.irot.angle & 3 : 0;
    facts->mirror = image.transformFlags & AVIF_TRANSFORM_IMIR ? (image.imir.mode == 0 ? 1 : 2) : 0;
    facts->has_clap = (image.transformFlags & AVIF_TRANSFORM_CLAP) != 0;
    const avifCleanApertureBox &clap = image.clap;
    const uint32_t numbers[8] = {clap.widthN,    clap.widthD,    clap.heightN,  clap.heightD,
                                 clap.horizOffN, clap.horizOffD, clap.vertOffN, clap.vertOffD};
    std::memcpy(facts->clap, numbers, sizeof numbers);
    facts->primaries = image.colorPrimaries;
    facts->transfer = image.transferCharacteristics;
    facts->matrix = image.matrixCoefficients;
    facts->icc_count = image.icc.size;
}

}
}

using namespace avif_shim;

int32_t avif_shim_open(uint32_t max_frames, uint32_t threads, uint8_t wants_metadata, avif_shim_poll poll,
                       void *context, avif_shim_decoder **decoder, avif_shim_error *error)
{
    std::unique_ptr<avif_shim_decoder> made(new (std::nothrow) avif_shim_decoder);
    if (!made) return report(avif_shim_memory, "there is not enough memory", error);
    made->memory.poll = poll;
    made->memory.context = context;
    const int32_t code = guarded(made->memory, made->is_broken, error, [&] {
        made->decoder = avifDecoderCreate();
        return made->decoder ? avif_shim_ok : avif_shim_memory;
    });
    if (code != avif_shim_ok) return code;
    avifDecoder &settings = *made->decoder;
    settings.codecChoice = AVIF_CODEC_CHOICE_DAV1D;
    settings.maxThreads = int(threads);
    settings.ignoreExif = settings.ignoreXMP = !wants_metadata;
    // dav1d checks sizes itself; reading the boxes allocates nothing for them.
    settings.imageDimensionLimit = 0;
    if (max_frames) settings.imageCountLimit = max_frames;
    // These flags skip harmless checks: a missing 'pixi', an alpha without 'ispe', an invalid crop.
    settings.strictFlags = AVIF_STRICT_DISABLED;
    made->io.read = read;
    // Bytes keep their address once libavif has seen them.
    made->io.persistent = AVIF_TRUE;
    made->io.data = made.get();
    avifDecoderSetIO(made->decoder, &made->io);
    *decoder = made.release();
    return avif_shim_ok;
}

void avif_shim_allow(avif_shim_decoder *decoder, uint64_t bytes) { decoder->memory.allowed = bytes; }

void avif_shim_feed(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count, uint8_t is_complete)
{
    decoder->bytes = bytes;
    decoder->count = count;
    decoder->is_complete = is_complete != 0;
    // The file size stays unset: libavif would refuse a sequence with a cut last frame before it shows the first.
    decoder->io.sizeHint = 0;
}

int32_t avif_shim_prefix(avif_shim_decoder *decoder, const uint8_t *bytes, uint64_t count)
{
    decoder->prefix.reset(new (std::nothrow) uint8_t[count]);
    if (!decoder->prefix) return avif_shim_memory;
    std::copy(bytes, bytes + count, decoder->prefix.get());
    decoder->prefix_count = count;
    return avif_shim_ok;
}

int32_t avif_shim_hide(avif_shim_decoder *decoder, const uint64_t *places, uint32_t count)
{
    decoder->hidden_count = 0;
    if (!count) return avif_shim_ok;
    decoder->hidden.reset(new (std::nothrow) uint64_t[count]);
    if (!decoder->hidden) return avif_shim_memory;
    std::copy(places, places + count, decoder->hidden.get());
    decoder->hidden_count = count;
    return avif_shim_ok;
}

int32_t avif_shim_parse(avif_shim_decoder *decoder, avif_shim_facts *facts, avif_shim_error *error)
{
    return guarded(decoder->memory, decoder->is_broken, error, [&] {
        const avifResult result = avifDecoderParse(decoder->decoder);
        if (result != AVIF_RESULT_OK) return report(result, decoder->decoder->diag.error, error);
        describe(*decoder, facts);
        return avif_shim_ok;
    });
}

void avif_shim_limit(avif_shim_decoder *decoder, uint32_t max_pixels)
{
    if (max_pixels && max_pixels < decoder->decoder->imageSizeLimit) decoder->decoder->imageSizeLimit = max_pixels;
}

int32_t avif_shim_restart(avif_shim_decoder *decoder, avif_shim_error *error)
{
    return guarded(decoder->memory, decoder->is_broken, error, [&] {
        const avifResult result = avifDecoderReset(decoder->decoder);
        return result == AVIF_RESULT_OK ? avif_shim_ok : report(result, decoder->decoder->diag.error, error);
    });
}

uint8_t avif_shim_is_key(const avif_shim_decoder *decoder, uint32_t frame)
{
    return avifDecoderIsKeyframe(decoder->decoder, frame) != 0;
}

uint32_t avif_shim_nearest_key(const avif_shim_decoder *decoder, uint32_t frame)
{
    return avifDecoderNearestKeyframe(decoder->decoder, frame);
}

int32_t avif_shim_end(const avif_shim_decoder *decoder, uint32_t frame, uint64_t *end)
{
    avifExtent extent = {};
    if (avifDecoderNthImageMaxExtent(decoder->decoder, frame, &extent) != AVIF_RESULT_OK) return avif_shim_corrupt;
    const uint64_t place = extent.offset + extent.size;
    *end = place - std::min(place, decoder->prefix_count);
    return place < extent.offset ? avif_shim_corrupt : avif_shim_ok;
}

int32_t avif_shim_frame(avif_shim_decoder *decoder, uint32_t frame, avif_shim_facts *decoded, avif_shim_error *error)
{
    return guarded(decoder->memory, decoder->is_broken, error, [&] {
        const avifResult result = avifDecoderNthImage(decoder->decoder, frame);
        if (result != AVIF_RESULT_OK) return report(result, decoder->decoder->diag.error, error);
        describe(*decoder, decoded);
        const avifImage &image = *decoder->decoder->image;
        decoded->has_alpha = image.alphaPlane != nullptr;
        if (!image.yuvPlanes[AVIF_CHAN_Y] || (decoded->chroma != 400 && !image.yuvPlanes[AVIF_CHAN_V])) {
            return report(avif_shim_corrupt, "the frame has no samples", error);
        }
        return avif_shim_ok;
    });
}

const uint8_t *avif_shim_blob(const avif_shim_decoder *decoder, uint32_t kind, uint64_t *count)
{
    const avifImage &image = *decoder->decoder->image;
    const avifRWData &data = kind == 1 ? image.exif : kind == 2 ? image.xmp : image.icc;
    *count = data.size;
    return data.size ? data.data : nullptr;
}

void avif_shim_close(avif_shim_decoder *decoder) { delete decoder; }

const avif_shim_planes *avif_shim_decoded(const avif_shim_decoder *decoder)
{
    return reinterpret_cast<const avif_shim_planes *>(decoder->decoder->image);
}
