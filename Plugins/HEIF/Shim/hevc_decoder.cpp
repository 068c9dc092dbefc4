// hevc_decoder.cpp - an HEVC decoder for libheif's decoder interface, over the same libde265 that libheif has built in.
//
// libheif's own decoder returns uninitialized memory where no slice wrote, drops the warnings of libde265, and starts
// an unused thread. This one decodes into its own planes, which are gray before the first slice, and checks afterwards
// whether gray is left.
//
// SPDX-License-Identifier: Apache-2.0
#include "hevc_planes.h"

#include <libheif/heif_plugin.h>

#include <cstdio>

namespace {

using namespace hevc;

const char *const cut = "a unit of the HEVC data ends behind the data";

// MARK: libheif's side

const char *name() { return "libde265"; }

// Above libheif's own priority of 100.
int supports(heif_compression_format format) { return format == heif_compression_HEVC ? 200 : 0; }

// Starts again with a new libde265 decoder.
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

// libheif keeps the bytes until the image is decoded.
heif_error push(void *raw, const void *bytes, size_t count)
{
    const auto self = static_cast<Decoder *>(raw);
    self->bytes = static_cast<const uint8_t *>(bytes);
    self->count = count;
    return success();
}

// Per thread, not per decoder: libheif reads the text of an error after it has destroyed the decoder.
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

// MARK: Decoding

// Whether an image begins with this unit, for which libde265 will request planes (Rec. ITU-T H.265 section 7.3.1.2: two
// bytes of header, the type in six bits; section 7.3.6.1: one bit, first_slice_segment_in_pic_flag).
bool begins_image(const uint8_t *unit, size_t count)
{
    if (count < 3 || (unit[0] >> 1 & 0x3F) >= 32) return false;
    // Emulation prevention bytes (section 7.4.2) are removed before the unit is read.
    const size_t at = unit[0] == 0 && unit[1] == 0 && unit[2] == 3 ? 3 : 2;
    return at < count && unit[at] >> 7;
}

// Runs libde265 on its pending data; of several images the last one stays, as with libheif's own decoder.
heif_error drain(Decoder &self, heif_image **out)
{
    for (int more = 1; more;) {
        more = 0;
        const de265_error error = de265_decode(self.context, &more);
        if (error == DE265_ERROR_WAITING_FOR_INPUT_DATA) return success();
        if (error != DE265_OK) return damaged(self, error);
        if (const de265_image *decoded = de265_get_next_picture(self.context)) {
            if (*out) heif_image_release(*out);
            *out = nullptr;
            heif_error result = convert(decoded, out);
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
        // One unit at a time, so that take_planes knows for which unit the filter is off.
        const bool is_first = begins_image(self.bytes + at, size);
        if (is_first) de265_set_parameter_bool(self.context, DE265_DECODER_PARAM_DISABLE_SAO, 1);
        heif_error result = drain(self, out);
        if (is_first) de265_set_parameter_bool(self.context, DE265_DECODER_PARAM_DISABLE_SAO, 0);
        if (result.code) return result;
        at += size;
    }
    de265_flush_data(self.context);
    return drain(self, out);
}

// Whether one slice segment is the whole image. Otherwise threads wait for each other's rows, and forever for the rows
// of a missing segment.
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

// The first warning of libde265; null if there is none.
const char *first_warning(const Decoder &self)
{
    const char *first = nullptr;
    for (;;) {
        const de265_error warning = de265_get_warning(self.context);
        if (warning == DE265_OK) return first;
        // This warning only means that threads had nothing to share; the file is correct.
        if (warning == DE265_WARNING_NO_WPP_CANNOT_USE_MULTITHREADING) continue;
        if (!first) first = de265_get_error_text(warning);
    }
}

using ImageOwner = std::unique_ptr<heif_image, void (*)(const heif_image *)>;

heif_error decode(Decoder &self, ImageOwner &owner, const char *&warning)
{
    heif_image *image = nullptr;
    heif_error result = feed(self, &image);
    owner.reset(image);
    warning = first_warning(self);
    return result;
}

heif_error decode(void *raw, heif_image **out)
{
    return contained([&] {
        Decoder &self = *static_cast<Decoder *>(raw);
        // Threads share the rows of blocks if the stream has entropy_coding_sync.
        const int threads = shim_decode_settings.threads;
        const bool shares = threads > 1 && has_one_segment(self);
        if (shares) de265_start_worker_threads(self.context, threads);
        ImageOwner owner(nullptr, heif_image_release);
        const char *warning = nullptr;
        heif_error result = decode(self, owner, warning);
        // Each thread begins its row at an entry point, and so decodes beyond damage at which a single thread stops.
        // The result for a damaged stream must not depend on the threads: it is decoded again on one thread.
        if (shares && (result.code || warning)) {
            shim_decode_settings.is_uncovered = false;
            if (!start(self)) return absence();
            result = decode(self, owner, warning);
        }
        if (warning && !shim_decode_settings.warning) shim_decode_settings.warning = warning;
        if (result.code) return result;
        if (!owner) {
            return failure(heif_error_Decoder_plugin_error, heif_suberror_End_of_data, "there is no HEVC image");
        }
        *out = owner.release();
        return success();
    });
}

const heif_decoder_plugin plugin = {
    3, name, nullptr, nullptr, supports, create, destroy, push, decode, nullptr, "coderhost-libde265"};

}

heif_error shim_register_hevc_decoder(heif_context *context) { return heif_register_decoder(context, &plugin); }
