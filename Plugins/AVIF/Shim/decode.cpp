// decode.cpp - decoding: libavif up to planes; rows.cpp makes pixels of them, turned and cropped as they are written.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

struct avif_shim_decoder {
    // The first member: it outlives libavif's decoder.
    avif_shim::Memory memory;
    bool is_broken = false;
    avifDecoder *decoder = nullptr;
    avifIO io = {};
    const uint8_t *bytes = nullptr;
    uint64_t count = 0;
    bool is_complete = false;
    // What the boxes are to look like elsewhere than in the file; see avif_shim_pretend.
    struct {
        uint64_t place = 0, count = 0;
        uint8_t bytes[4] = {};
    } changes[4];
    int change_count = 0;
    bool is_parsing = false;
    std::unique_ptr<uint8_t[]> changed;
    std::unique_ptr<uint8_t[]> strip;
    uint64_t strip_size = 0;

    ~avif_shim_decoder()
    {
        if (!decoder) return;
        const avif_shim::Use use(memory);
        // An exception may leave behind an image that libavif has freed already.
        if (is_broken && !memory.holds(decoder->image)) decoder->image = nullptr;
        avifDecoderDestroy(decoder);
    }
};

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
    // What it was asked to read lies behind the end.
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
    // libavif has one number for all of these.
    if (std::strstr(details, "too large") || std::strstr(details, "imageSizeLimit")) return avif_shim_pixel_limit;
    if (std::strstr(details, "imageCountLimit")) return avif_shim_frame_limit;
    // Forbidden, but written by some and read by others: one box more of the same kind.
    if (std::strstr(details, "[ipma] with a given pair")) return avif_shim_unsupported;
    return avif_shim_corrupt;
}

}

int32_t report(avifResult result, const char *details, avif_shim_error *error)
{
    return report(kind(result, details), *details ? details : avifResultToString(result), error);
}

namespace {

// Shows a copy of boxes that are to look different. All the changes lie in one box, so there is one copy.
avifResult pretend(avif_shim_decoder &self, uint64_t offset, avifROData *out)
{
    for (int i = 0; i < self.change_count; i++) {
        const auto &change = self.changes[i];
        if (change.place < offset || change.place - offset + change.count > out->size) continue;
        if (out->data != self.changed.get()) {
            self.changed.reset(new (std::nothrow) uint8_t[out->size]);
            if (!self.changed) return AVIF_RESULT_OUT_OF_MEMORY;
            std::memcpy(self.changed.get(), out->data, out->size);
            out->data = self.changed.get();
        }
        std::memcpy(self.changed.get() + (change.place - offset), change.bytes, change.count);
    }
    return AVIF_RESULT_OK;
}

avifResult read(avifIO *io, uint32_t flags, uint64_t offset, size_t size, avifROData *out)
{
    const auto self = static_cast<avif_shim_decoder *>(io->data);
    if (flags != 0) return AVIF_RESULT_IO_ERROR;
    const uint64_t rest = offset < self->count ? self->count - offset : 0;
    if (size > rest) {
        if (!self->is_complete) return AVIF_RESULT_WAITING_ON_IO;
        if (offset > self->count) return AVIF_RESULT_IO_ERROR;
        size = size_t(rest);
    }
    out->data = self->bytes + (size ? offset : 0);
    out->size = size;
    return self->is_parsing ? pretend(*self, offset, out) : AVIF_RESULT_OK;
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
    // The codec looks at sizes itself; nothing is allocated for them while the boxes are read.
    settings.imageDimensionLimit = 0;
    if (max_frames) settings.imageCountLimit = max_frames;
    // What the flags refuse is harmless: a missing 'pixi', an alpha without 'ispe', a crop that cannot be.
    settings.strictFlags = AVIF_STRICT_DISABLED;
    made->io.read = read;
    // Bytes that were shown once stay where they are.
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
    // Not told: libavif would refuse a sequence whose last frame is cut before it shows the first.
    decoder->io.sizeHint = 0;
}

void avif_shim_pretend(avif_shim_decoder *decoder, uint64_t place, const uint8_t *bytes, uint64_t count)
{
    if (decoder->change_count == 4 || count > 4) return;
    auto &change = decoder->changes[decoder->change_count++];
    change.place = place;
    change.count = count;
    std::copy(bytes, bytes + count, change.bytes);
    avifDecoderSetSource(decoder->decoder, AVIF_DECODER_SOURCE_PRIMARY_ITEM);
}

int32_t avif_shim_parse(avif_shim_decoder *decoder, avif_shim_facts *facts, avif_shim_error *error)
{
    decoder->is_parsing = true;
    const int32_t code = guarded(decoder->memory, decoder->is_broken, error, [&] {
        const avifResult result = avifDecoderParse(decoder->decoder);
        if (result != AVIF_RESULT_OK) return report(result, decoder->decoder->diag.error, error);
        describe(*decoder, facts);
        return avif_shim_ok;
    });
    decoder->is_parsing = false;
    return code;
}

int32_t avif_shim_restart(avif_shim_decoder *decoder, uint32_t max_pixels, avif_shim_error *error)
{
    if (max_pixels && max_pixels < decoder->decoder->imageSizeLimit) decoder->decoder->imageSizeLimit = max_pixels;
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
    *end = extent.offset + extent.size;
    return *end < extent.offset ? avif_shim_corrupt : avif_shim_ok;
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

// MARK: writing pixels

namespace {

template <unsigned size> struct Pixel {
    uint8_t bytes[size];
};

// Puts rows x columns of a strip where they belong: `across` and `down` are the steps of one pixel in the target.
template <unsigned size>
void scatter(const uint8_t *strip, int64_t strip_stride, uint32_t columns, uint32_t rows, uint8_t *out, int64_t across,
             int64_t down)
{
    for (uint32_t x = 0; x < columns; x++) {
        const uint8_t *from = strip + int64_t(x) * size;
        uint8_t *to = out + int64_t(x) * across;
        for (uint32_t y = 0; y < rows; y++, from += strip_stride, to += down) std::memcpy(to, from, size);
    }
}

using Scatter = void (*)(const uint8_t *, int64_t, uint32_t, uint32_t, uint8_t *, int64_t, int64_t);

Scatter scatter_of(unsigned size)
{
    switch (size) {
    case 1: return scatter<1>;
    case 2: return scatter<2>;
    case 3: return scatter<3>;
    case 4: return scatter<4>;
    case 6: return scatter<6>;
    default: return scatter<8>;
    }
}

// Where the first pixel of the shown part goes, and the steps from there.
struct Walk {
    int64_t start, across, down;

    Walk(const avif_shim_layout &layout, int64_t pixel, int64_t stride)
    {
        const bool is_turned = layout.turns & 1;
        const int64_t width = is_turned ? layout.height : layout.width;
        const int64_t height = is_turned ? layout.width : layout.height;
        // Where (0, 0), and the directions of x and y, go: as (x, y) of the target.
        int64_t x = 0, y = 0, ax = 1, ay = 0, dx = 0, dy = 1;
        switch (layout.turns & 3) {
        case 1: x = 0, y = height - 1, ax = 0, ay = -1, dx = 1, dy = 0; break;
        case 2: x = width - 1, y = height - 1, ax = -1, ay = 0, dx = 0, dy = -1; break;
        case 3: x = width - 1, y = 0, ax = 0, ay = 1, dx = -1, dy = 0; break;
        }
        if (layout.mirror == 1) y = height - 1 - y, ay = -ay, dy = -dy;
        if (layout.mirror == 2) x = width - 1 - x, ax = -ax, dx = -dx;
        start = y * stride + x * pixel;
        across = ay * stride + ax * pixel;
        down = dy * stride + dx * pixel;
    }
};

}

uint8_t avif_shim_knows_colors(const avif_shim_decoder *decoder) { return knows_colors(*decoder->decoder->image); }

int32_t avif_shim_convert(avif_shim_decoder *decoder, uint32_t first, uint32_t end, const avif_shim_layout *layout,
                          uint8_t *pixels, uint64_t stride)
{
    const avifImage &image = *decoder->decoder->image;
    if (first >= end || end > image.height || (first && first % 2 == 0)) return avif_shim_corrupt;
    if (layout->width > image.width || layout->x > image.width - layout->width) return avif_shim_corrupt;
    if (layout->height > image.height || layout->y > image.height - layout->height) return avif_shim_corrupt;
    if (layout->channels < 3 && image.yuvFormat != AVIF_PIXEL_FORMAT_YUV400) return avif_shim_corrupt;
    static const unsigned counts[] = {0, 1, 2, 3, 4, 4};
    const unsigned size = counts[layout->channels] * layout->bits / 8;
    const Walk walk(*layout, size, int64_t(stride));

    const bool is_whole = layout->width == image.width && layout->height == image.height;
    if (is_whole && walk.across == size) {
        uint8_t *row = pixels + walk.start + int64_t(first) * walk.down;
        return convert_rows(image, first, end, layout->channels, layout->bits, row, walk.down) ? avif_shim_ok
                                                                                              : avif_shim_memory;
    }
    const int64_t strip_stride = int64_t(image.width) * size;
    // One row more: rows.cpp may write the one before the first.
    const uint64_t needed = uint64_t(strip_stride) * (end - first + 1);
    if (needed > decoder->strip_size) {
        decoder->strip.reset(new (std::nothrow) uint8_t[needed]);
        decoder->strip_size = decoder->strip ? needed : 0;
        if (!decoder->strip) return avif_shim_memory;
    }
    uint8_t *rows = decoder->strip.get() + strip_stride;
    const uint32_t top = first > layout->y ? first : layout->y;
    const uint32_t bottom = end < layout->y + layout->height ? end : layout->y + layout->height;
    if (top >= bottom) return avif_shim_ok;
    if (!convert_rows(image, first, end, layout->channels, layout->bits, rows, strip_stride)) return avif_shim_memory;
    scatter_of(size)(rows + int64_t(top - first) * strip_stride + int64_t(layout->x) * size, strip_stride,
                     layout->width, bottom - top, pixels + walk.start + int64_t(top - layout->y) * walk.down,
                     walk.across, walk.down);
    return avif_shim_ok;
}
