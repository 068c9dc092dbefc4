// hevc_decoder.cpp - an HEVC decoder for libheif's decoder interface, over the same libde265 that libheif has built in.
//
// The built-in one hands out what the memory held before wherever no slice wrote, tells nobody what libde265 warned of,
// and starts a thread that has nothing to do. This one decodes into its own planes, which are grey before the first
// slice, and sees afterwards whether grey is left.
//
// SPDX-License-Identifier: Apache-2.0
#include "shim_internal.h"

#include <libde265/de265.h>
#include <libheif/heif_plugin.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

heif_error failure(heif_error_code code, heif_suberror_code subcode, const char *message)
{
    return {code, subcode, message};
}

const char *const cut = "a unit of the HEVC data ends behind the data";
const char *const uncovered = "the HEVC slices do not cover the picture";

heif_error success() { return failure(heif_error_Ok, heif_suberror_Unspecified, "Success"); }

// The grey that stands for "not written": a pattern of two neighbouring steps that nobody sees and no coder chooses. A
// coding tree block is 16 x 16 at least (Rec. ITU-T H.265 section 7.4.3.2.1), so a missing one leaves a whole tile of it.
struct Grey {
    static constexpr int side = 16;
    uint16_t rows[side];

    Grey()
    {
        uint32_t state = 0x2545F491;
        for (uint16_t &row : rows) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            row = uint16_t(state >> 8);
        }
    }

    // One row of one tile, ready to be copied or compared.
    template <class Sample> void spell(int y, int depth, Sample *out) const
    {
        const int middle = 1 << (depth - 1);
        for (int x = 0; x < side; x++) out[x] = Sample(middle + (rows[y % side] >> x & 1));
    }
};
const Grey grey;

struct Plane {
    uint8_t *start = nullptr;
    size_t stride = 0;
    int width = 0, height = 0, depth = 8;
    // Where the window begins that is shown.
    int left = 0, top = 0;

    int bytes() const { return depth > 8 ? 2 : 1; }
};

// The picture that libde265 works on.
struct Planes {
    Plane planes[3];

    ~Planes()
    {
        for (Plane &plane : planes) std::free(plane.start);
    }
};

template <class Sample> void fill(const Plane &plane)
{
    for (int y = 0; y < plane.height; y++) {
        Sample tile[Grey::side];
        grey.spell(y, plane.depth, tile);
        uint8_t *row = plane.start + size_t(y) * plane.stride;
        for (size_t at = 0; at < plane.stride; at += sizeof tile) std::memcpy(row + at, tile, sizeof tile);
    }
}

// Whether slices wrote every tile. Deblocking reaches three samples over the edge of a block, so its middle is looked at.
template <class Sample> bool is_covered(const Plane &plane)
{
    constexpr int margin = 4;
    Sample tiles[Grey::side][Grey::side];
    for (int y = 0; y < Grey::side; y++) grey.spell(y, plane.depth, tiles[y]);
    for (int top = 0; top + margin < plane.height; top += Grey::side) {
        const int end = std::min(Grey::side - margin, plane.height - top);
        for (int left = 0; left + margin < plane.width; left += Grey::side) {
            const size_t count = size_t(std::min(Grey::side - 2 * margin, plane.width - left - margin));
            int y = margin;
            while (y < end) {
                const uint8_t *row = plane.start + size_t(top + y) * plane.stride;
                const uint8_t *at = row + size_t(left + margin) * sizeof(Sample);
                if (std::memcmp(at, &tiles[y][margin], count * sizeof(Sample)) != 0) break;
                y++;
            }
            if (y == end) return false;
        }
    }
    return true;
}

struct Decoder {
    de265_decoder_context *context = nullptr;
    const uint8_t *bytes = nullptr;
    size_t count = 0;
    uint64_t max_pixels = 0, refused_pixels = 0;

    ~Decoder()
    {
        if (context) de265_free_decoder(context);
    }
};

// MARK: Memory

int take_planes(de265_decoder_context *context, de265_image_spec *spec, de265_image *image, void *user)
{
    // Told otherwise, libde265 takes planes of its own for a picture that its last filter will change; it asks for the
    // planes before it looks whether to run that filter.
    de265_set_parameter_bool(context, DE265_DECODER_PARAM_DISABLE_SAO, 0);

    const auto self = static_cast<Decoder *>(user);
    const uint64_t pixels = uint64_t(spec->width) * uint64_t(spec->height);
    if (pixels > self->max_pixels) {
        self->refused_pixels = pixels;
        return 0;
    }
    std::unique_ptr<Planes> made(new (std::nothrow) Planes);
    if (!made) return 0;
    const bool is_gray = spec->format == de265_image_format_mono8;
    const int shift_x = spec->format == de265_image_format_YUV444P8 ? 0 : 1;
    const int shift_y = spec->format == de265_image_format_YUV420P8 ? 1 : 0;
    for (int i = 0; i < (is_gray ? 1 : 3); i++) {
        Plane &plane = made->planes[i];
        plane.depth = de265_get_bits_per_pixel(image, i);
        plane.width = i > 0 ? (spec->width + shift_x) >> shift_x : spec->width;
        plane.height = i > 0 ? (spec->height + shift_y) >> shift_y : spec->height;
        plane.left = i > 0 ? spec->crop_left >> shift_x : spec->crop_left;
        plane.top = i > 0 ? spec->crop_top >> shift_y : spec->crop_top;
        plane.stride = (size_t(plane.width) * size_t(plane.bytes()) + 63) / 64 * 64;
        // libde265's vector code reads up to 16 bytes behind the last row.
        const size_t size = plane.stride * size_t(plane.height) + 64;
        plane.start = static_cast<uint8_t *>(std::aligned_alloc(64, size));
        if (!plane.start) return 0;
        if (i == 0) plane.bytes() > 1 ? fill<uint16_t>(plane) : fill<uint8_t>(plane);
        else if (plane.bytes() == 1) std::memset(plane.start, 1 << (plane.depth - 1), size);
        else std::fill_n(reinterpret_cast<uint16_t *>(plane.start), size / 2, uint16_t(1 << (plane.depth - 1)));
        if (i == 0) std::memset(plane.start + size - 64, 0, 64);
    }
    for (int i = 0; i < 3; i++) {
        const Plane &plane = made->planes[i];
        de265_set_image_plane(image, i, plane.start, int(plane.stride), made.get());
    }
    made.release();
    return 1;
}

void give_planes_back(de265_decoder_context *, de265_image *image, void *)
{
    delete static_cast<Planes *>(de265_get_image_plane_user_data(image, 0));
}

// MARK: libheif's side

const char *name() { return "libde265"; }

// Above the 100 of libheif's own.
int supports(heif_compression_format format) { return format == heif_compression_HEVC ? 200 : 0; }

// Begins anew, with a libde265 that has seen nothing.
bool start(Decoder &self)
{
    if (self.context) de265_free_decoder(self.context);
    self.context = de265_new_decoder();
    self.refused_pixels = 0;
    if (!self.context) return false;
    de265_image_allocation allocation = {take_planes, give_planes_back};
    de265_set_image_allocation_functions(self.context, &allocation, &self);
    return true;
}

heif_error absence()
{
    return failure(heif_error_Memory_allocation_error, heif_suberror_Unspecified, "libde265 does not start");
}

heif_error create(void **out)
{
    return contained([&] {
        auto decoder = std::make_unique<Decoder>();
        decoder->max_pixels = shim_decode_settings.max_pixels;
        if (!start(*decoder)) return absence();
        *out = decoder.release();
        return success();
    });
}

void destroy(void *decoder) { delete static_cast<Decoder *>(decoder); }

// libheif keeps the bytes until the picture is decoded.
heif_error push(void *raw, const void *bytes, size_t count)
{
    const auto self = static_cast<Decoder *>(raw);
    self->bytes = static_cast<const uint8_t *>(bytes);
    self->count = count;
    return success();
}

// Of the thread, not of the decoder: libheif reads the text of an error after it has destroyed the decoder.
thread_local char message[96];

heif_error damaged(const Decoder &self, de265_error error)
{
    if (self.refused_pixels) {
        std::snprintf(message, sizeof message, "the stream has %llu pixels, %llu are allowed",
                      static_cast<unsigned long long>(self.refused_pixels),
                      static_cast<unsigned long long>(self.max_pixels));
        return failure(heif_error_Decoder_plugin_error, heif_suberror_Security_limit_exceeded, message);
    }
    if (error == DE265_ERROR_OUT_OF_MEMORY) {
        return failure(heif_error_Memory_allocation_error, heif_suberror_Unspecified, "there is not enough memory");
    }
    std::snprintf(message, sizeof message, "the HEVC data is damaged: %s", de265_get_error_text(error));
    return failure(heif_error_Decoder_plugin_error, heif_suberror_Unspecified, message);
}

heif_error copy(const de265_image *picture, const Planes &planes, heif_image *image, int count)
{
    static const heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
    const int depth = de265_get_bits_per_pixel(picture, 0);
    for (int i = 0; i < count; i++) {
        const int width = de265_get_image_width(picture, i), height = de265_get_image_height(picture, i);
        if (de265_get_bits_per_pixel(picture, i) != depth) {
            return failure(heif_error_Unsupported_feature, heif_suberror_Unsupported_color_conversion,
                           "brightness and colours have different numbers of bits");
        }
        const Plane &plane = planes.planes[i];
        // libde265 1.0.11 does not look whether the window lies inside, and for more than 8 bits it begins it elsewhere.
        if (width <= 0 || height <= 0 || plane.left < 0 || plane.top < 0 || width > plane.width - plane.left ||
            height > plane.height - plane.top) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_Invalid_image_size,
                           "the window of the stream is not inside of its picture");
        }
        heif_error result = heif_image_add_plane(image, channels[i], width, height, depth);
        if (result.code) return result;
        int stride = 0;
        uint8_t *to = heif_image_get_plane(image, channels[i], &stride);
        const size_t sample = size_t(plane.bytes());
        const uint8_t *from = plane.start + size_t(plane.top) * plane.stride + size_t(plane.left) * sample;
        for (int y = 0; y < height; y++) {
            std::memcpy(to + size_t(y) * size_t(stride), from + size_t(y) * plane.stride, size_t(width) * sample);
        }
    }
    return success();
}

heif_error convert(const de265_image *picture, heif_image **out)
{
    const auto planes = static_cast<const Planes *>(de265_get_image_plane_user_data(picture, 0));
    if (!planes) {
        return failure(heif_error_Decoder_plugin_error, heif_suberror_Unspecified,
                       "libde265 has not taken the memory that it was given");
    }
    const Plane &luma = planes->planes[0];
    if (!(luma.bytes() > 1 ? is_covered<uint16_t>(luma) : is_covered<uint8_t>(luma))) {
        if (!shim_decode_settings.reports) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, uncovered);
        }
        shim_decode_settings.is_uncovered = true;
    }
    const de265_chroma chroma = de265_get_chroma_format(picture);
    const bool is_gray = chroma == de265_chroma_mono;
    heif_image *image = nullptr;
    heif_error result =
        heif_image_create(de265_get_image_width(picture, 0), de265_get_image_height(picture, 0),
                          is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr, heif_chroma(chroma), &image);
    if (result.code) return result;
    std::unique_ptr<heif_image, void (*)(const heif_image *)> owned(image, heif_image_release);
    result = copy(picture, *planes, image, is_gray ? 1 : 3);
    if (result.code) return result;

    std::unique_ptr<heif_color_profile_nclx, void (*)(heif_color_profile_nclx *)> nclx(
        heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
    // A code point that libheif does not know leaves "unspecified", as its own decoder means to.
    heif_nclx_color_profile_set_color_primaries(nclx.get(), uint16_t(de265_get_image_colour_primaries(picture)));
    heif_nclx_color_profile_set_transfer_characteristics(
        nclx.get(), uint16_t(de265_get_image_transfer_characteristics(picture)));
    heif_nclx_color_profile_set_matrix_coefficients(
        nclx.get(), uint16_t(de265_get_image_matrix_coefficients(picture)));
    nclx->full_range_flag = de265_get_image_full_range_flag(picture) != 0;
    heif_image_set_nclx_color_profile(image, nclx.get());
    *out = owned.release();
    return success();
}

// MARK: Decoding

// Whether a picture begins with this unit, for which libde265 will take planes (Rec. ITU-T H.265 section 7.3.1.2: two
// bytes of header, the type in six bits; section 7.3.6.1: one bit, first_slice_segment_in_pic_flag).
bool begins_picture(const uint8_t *unit, size_t count)
{
    if (count < 3 || (unit[0] >> 1 & 0x3F) >= 32) return false;
    // A byte that is there so that nothing looks like a start code (section 7.4.2) goes before the unit is read.
    const size_t at = unit[0] == 0 && unit[1] == 0 && unit[2] == 3 ? 3 : 2;
    return at < count && unit[at] >> 7;
}

// Works off what libde265 has; of several pictures the last one stays, as with libheif's own decoder.
heif_error drain(Decoder &self, heif_image **out)
{
    for (int more = 1; more;) {
        more = 0;
        const de265_error error = de265_decode(self.context, &more);
        if (error == DE265_ERROR_WAITING_FOR_INPUT_DATA) return success();
        if (error != DE265_OK) return damaged(self, error);
        if (const de265_image *picture = de265_get_next_picture(self.context)) {
            if (*out) heif_image_release(*out);
            *out = nullptr;
            heif_error result = convert(picture, out);
            if (result.code) return result;
        }
    }
    return success();
}

heif_error feed(Decoder &self, heif_image **out)
{
    size_t at = 0;
    while (at < self.count) {
        heif_error asked = shim_ask();
        if (asked.code) return asked;
        // The length of a unit, which libheif writes before it in four bytes.
        if (self.count - at < 4) return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, cut);
        const uint8_t *bytes = self.bytes + at;
        const size_t size = size_t(bytes[0]) << 24 | size_t(bytes[1]) << 16 | size_t(bytes[2]) << 8 | bytes[3];
        at += 4;
        if (size > self.count - at || size > INT32_MAX) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, cut);
        }
        if (shim_libde265_prints_about(self.bytes + at, size)) {
            return damaged(self, DE265_ERROR_CODED_PARAMETER_OUT_OF_RANGE);
        }
        const de265_error error = de265_push_NAL(self.context, self.bytes + at, int(size), 0, nullptr);
        if (error != DE265_OK) return damaged(self, error);
        // One unit at a time, so that it is known for which one the filter is said to be off (take_planes).
        const bool is_first = begins_picture(self.bytes + at, size);
        if (is_first) de265_set_parameter_bool(self.context, DE265_DECODER_PARAM_DISABLE_SAO, 1);
        heif_error result = drain(self, out);
        if (is_first) de265_set_parameter_bool(self.context, DE265_DECODER_PARAM_DISABLE_SAO, 0);
        if (result.code) return result;
        at += size;
    }
    de265_flush_data(self.context);
    return drain(self, out);
}

// Whether one slice segment is all of the picture. Threads wait for each other's rows, and for those of a missing segment
// without end.
bool has_one_segment(const Decoder &self)
{
    size_t at = 0, segments = 0;
    while (self.count - at > 4) {
        const uint8_t *bytes = self.bytes + at;
        const size_t size = size_t(bytes[0]) << 24 | size_t(bytes[1]) << 16 | size_t(bytes[2]) << 8 | bytes[3];
        if ((bytes[4] >> 1 & 0x3F) < 32) segments++;
        at += 4;
        if (size > self.count - at) return false;
        at += size;
    }
    return segments == 1;
}

// The first thing that libde265 warned of; null where it warned of nothing.
const char *first_warning(const Decoder &self)
{
    const char *first = nullptr;
    for (;;) {
        const de265_error warning = de265_get_warning(self.context);
        if (warning == DE265_OK) return first;
        // Threads that found nothing to share are no fault of the file.
        if (warning == DE265_WARNING_NO_WPP_CANNOT_USE_MULTITHREADING) continue;
        if (!first) first = de265_get_error_text(warning);
    }
}

using Picture = std::unique_ptr<heif_image, void (*)(const heif_image *)>;

heif_error decode(Decoder &self, Picture &picture, const char *&warning)
{
    heif_image *image = nullptr;
    heif_error result = feed(self, &image);
    picture.reset(image);
    warning = first_warning(self);
    return result;
}

heif_error decode(void *raw, heif_image **out)
{
    return contained([&] {
        Decoder &self = *static_cast<Decoder *>(raw);
        // They share the rows of blocks where the stream has entropy_coding_sync.
        const int threads = shim_decode_settings.threads;
        const bool shares = threads > 1 && has_one_segment(self);
        if (shares) de265_start_worker_threads(self.context, threads);
        Picture picture(nullptr, heif_image_release);
        const char *warning = nullptr;
        heif_error result = decode(self, picture, warning);
        // Each thread begins its row at an entry point, and so paints over damage at which a single thread stops. What a
        // damaged stream shows must not depend on the threads: a single one decides.
        if (shares && (result.code || warning)) {
            shim_decode_settings.is_uncovered = false;
            if (!start(self)) return absence();
            result = decode(self, picture, warning);
        }
        if (warning && !shim_decode_settings.warning) shim_decode_settings.warning = warning;
        if (result.code) return result;
        if (!picture) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, "there is no HEVC picture");
        }
        *out = picture.release();
        return success();
    });
}

const heif_decoder_plugin plugin = {
    3, name, nullptr, nullptr, supports, create, destroy, push, decode, nullptr, "coderhost-libde265"};

}

heif_error shim_register_hevc_decoder(heif_context *context) { return heif_register_decoder(context, &plugin); }
