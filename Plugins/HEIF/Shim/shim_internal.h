// shim_internal.h - declarations shared by the files of the shim; not visible to Swift.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SHIM_INTERNAL_H
#define SHIM_INTERNAL_H

#include "heif_shim.h"

#include <libheif/heif.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

inline int32_t report(int32_t code, int32_t subcode, const char *message, heif_shim_error *error)
{
    error->code = code;
    error->subcode = subcode;
    std::strncpy(error->message, message ? message : "", sizeof error->message - 1);
    error->message[sizeof error->message - 1] = 0;
    // Some messages of libheif end with a line feed.
    if (size_t length = std::strlen(error->message); length && error->message[length - 1] == '\n') {
        error->message[length - 1] = 0;
    }
    return code;
}

inline int32_t report(const heif_error &result, heif_shim_error *error)
{
    return report(result.code, result.subcode, result.message, error);
}

// Runs `body` and converts an exception to a code.
template <class Body> int32_t guarded(heif_shim_error *error, Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return report(heif_error_Memory_allocation_error, 0, "there is not enough memory", error);
    } catch (...) {
        return report(heif_error_Decoder_plugin_error, 0, "libheif gave up", error);
    }
}

// Runs `body`, which libheif calls, and converts an exception to a code: otherwise libheif would not free the decoder.
template <class Body> heif_error contained(Body body) noexcept
{
    try {
        return body();
    } catch (...) {
        return {heif_error_Memory_allocation_error, heif_suberror_Unspecified, "there is not enough memory"};
    }
}

// The color encoding of YCbCr: code points of ITU-T H.273.
struct ShimColors {
    uint32_t primaries = 2, matrix = 2;
    bool full_range = false;
};

// Three planes of 8-bit samples; the planes of color differences are smaller by the shifts.
struct ShimYCbCr {
    const uint8_t *planes[3];
    int strides[3];
    int width, height;
    uint8_t shift_x, shift_y;
};

// Whether shim_rgb_planes can convert such colors (colors.cpp).
bool shim_knows_colors(const ShimColors &colors);

// Converts to planes R, G and B of the same size; false if memory is short.
bool shim_rgb_planes(const ShimYCbCr &from, const ShimColors &colors, uint8_t *const planes[3], const int strides[3]);

// Interleaves one row of 8-bit samples as R, G, B.
void shim_merge_rgb_row(const uint8_t *red, const uint8_t *green, const uint8_t *blue, uint8_t *out, uint32_t width);

// The settings of a decoder that libheif creates: libheif passes none to its constructor. They are set on the decoding
// thread; tiles on other threads get the defaults, one thread each.
struct ShimDecodeSettings {
    int threads = 1;
    unsigned max_pixels = 1u << 30;
    // The next stream is a color image, not a tile and not alpha: its decoder returns RGB where it can.
    bool wants_rgb = false;
    // The colors that the file declares; they override those of the stream.
    bool has_colors = false;
    ShimColors colors;

    // Returns whether the caller wants to stop; not called on libheif's threads.
    heif_shim_poll poll = nullptr;
    void *context = nullptr;

    // The results. For tiles on other threads, which do not read them, an image with gaps is an error.
    bool reports = false;
    bool is_uncovered = false;
    bool is_stopped = false;
    // The text of the first warning; it is valid as long as the process runs.
    const char *warning = nullptr;
};
extern thread_local ShimDecodeSettings shim_decode_settings;

// Polls the caller; libheif passes on the error of a decoder.
inline heif_error shim_ask()
{
    ShimDecodeSettings &settings = shim_decode_settings;
    if (!settings.poll || settings.poll(settings.context) == 0) {
        return {heif_error_Ok, heif_suberror_Unspecified, "Success"};
    }
    settings.is_stopped = true;
    return {heif_error_Decoder_plugin_error, heif_suberror_Unspecified, "the caller stopped the decoder"};
}

// Whether a unit of HEVC is a parameter set that libde265 refuses with a line on standard error (hevc_sets.cpp).
bool shim_libde265_prints_about(const uint8_t *unit, size_t size);

// Gives our own decoders priority over libheif's (av1_decoder.cpp, hevc_decoder.cpp).
int32_t shim_register_decoders(heif_context *context, heif_shim_error *error);
heif_error shim_register_hevc_decoder(heif_context *context);

// The settings of our own encoder, set around a call of libheif on the encoding thread.
extern thread_local const heif_shim_settings *shim_encode_settings;

// Makes our own encoder (av1_encoder.cpp).
heif_error shim_av1_encoder(heif_context *context, heif_encoder **encoder);

#endif
