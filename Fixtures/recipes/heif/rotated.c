/*
 * rotated.c - encodes a JPEG's Exif, ICC profile and PPM pixels as a HEIC with 'irot' and a thumbnail.
 *
 * usage: rotated IN.ppm IN.exif IN.icc OUT.heic      (cc rotated.c -lheif)
 *
 * libheif 1.15 writes the size after the turn into 'ispe' (and 'irot' before it); ISO/IEC 23008-12 section 6.5.3.1
 * wants the size before. Both numbers are exchanged in the file afterwards: see recipes.txt.
 */
#include <libheif/heif.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char *slurp(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 20);
    *count = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    size_t exif_count, icc_count;
    unsigned char *exif = slurp(argv[2], &exif_count), *icc = slurp(argv[3], &icc_count);
    FILE *ppm = fopen(argv[1], "rb");
    int width, height;
    if (fscanf(ppm, "P6 %d %d 255", &width, &height) != 2 || fgetc(ppm) != '\n') return 2;

    struct heif_image *image;
    heif_image_create(width, height, heif_colorspace_RGB, heif_chroma_interleaved_RGB, &image);
    heif_image_add_plane(image, heif_channel_interleaved, width, height, 8);
    int stride;
    unsigned char *plane = heif_image_get_plane(image, heif_channel_interleaved, &stride);
    for (int y = 0; y < height; y++) {
        if (fread(plane + (size_t)y * stride, 3, width, ppm) != (size_t)width) return 2;
    }
    heif_image_set_raw_color_profile(image, "prof", icc, icc_count);

    struct heif_context *context = heif_context_alloc();
    struct heif_encoder *encoder;
    heif_context_get_encoder_for_format(context, heif_compression_HEVC, &encoder);
    heif_encoder_set_lossy_quality(encoder, 90);
    heif_encoder_set_parameter_string(encoder, "chroma", "444");
    struct heif_encoding_options *options = heif_encoding_options_alloc();
    options->image_orientation = heif_orientation_rotate_90_cw;
    struct heif_image_handle *picture, *thumbnail;
    if (heif_context_encode_image(context, image, encoder, options, &picture).code) return 1;
    if (heif_context_encode_thumbnail(context, image, picture, encoder, options, 64, &thumbnail).code) return 1;
    heif_context_add_exif_metadata(context, picture, exif, exif_count);
    return heif_context_write_to_file(context, argv[4]).code;
}
