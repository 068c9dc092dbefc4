// hevc_planes.h - the memory of the HEVC decoder: planes that show where no slice wrote.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef HEVC_PLANES_H
#define HEVC_PLANES_H

#include "shim_internal.h"

#include <libde265/de265.h>

namespace hevc {

inline heif_error failure(heif_error_code code, heif_suberror_code subcode, const char *message)
{
    return {code, subcode, message};
}

inline heif_error success() { return failure(heif_error_Ok, heif_suberror_Unspecified, "Success"); }

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

// Gives libde265 gray planes for an image; `user` is the Decoder.
int take_planes(de265_decoder_context *context, de265_image_spec *spec, de265_image *image, void *user);
void give_planes_back(de265_decoder_context *, de265_image *image, void *);

// Makes an image of libheif from decoded planes, unless slices are missing.
heif_error convert(const de265_image *decoded, heif_image **out);

}

#endif
