/* Decodes JPEG 2000 with OpenJPEG, without threads: cc -O2 jp2.c $(pkg-config --cflags --libs libopenjp2)
   jp2 FILE [HALVINGS [X0 Y0 X1 Y1]] */
#include <openjpeg.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    if (count < 2) return 2;
    const char *end = strrchr(words[1], '.');
    int boxes = end && !strcmp(end, ".jp2");
    opj_codec_t *codec = opj_create_decompress(boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (count > 2) parameters.cp_reduce = (OPJ_UINT32)atoi(words[2]);
    opj_stream_t *stream = opj_stream_create_default_file_stream(words[1], OPJ_TRUE);
    opj_image_t *image = NULL;
    if (!stream || !opj_setup_decoder(codec, &parameters) || !opj_read_header(stream, codec, &image)) return 3;
    if (count > 6
        && !opj_set_decode_area(codec, image, atoi(words[3]), atoi(words[4]), atoi(words[5]), atoi(words[6]))) {
        return 4;
    }
    if (!opj_decode(codec, stream, image)) return 5;
    return 0;
}
