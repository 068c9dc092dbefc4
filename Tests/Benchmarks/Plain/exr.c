/* Decodes the rows of an OpenEXR file to interleaved floats with OpenEXRCore:
   cc -O2 exr.c $(pkg-config --cflags OpenEXR) -lOpenEXRCore-3_1
   exr FILE [half] keeps the stored halves. */
#include <openexr.h>
#include <stdlib.h>

int main(int count, char **words) {
    exr_context_t file;
    if (count < 2 || exr_start_read(&file, words[1], NULL)) return 2;
    exr_attr_box2i_t window;
    int32_t rows = 0;
    exr_get_data_window(file, 0, &window);
    exr_get_scanlines_per_chunk(file, 0, &rows);
    size_t width = (size_t)(window.max.x - window.min.x) + 1;
    size_t height = (size_t)(window.max.y - window.min.y) + 1;
    int bytes = count > 2 ? 2 : 4;
    const exr_attr_chlist_t *channels = NULL;
    exr_get_channels(file, 0, &channels);
    size_t pixel = (size_t)channels->num_channels * (size_t)bytes;
    unsigned char *pixels = malloc(width * height * pixel);
    exr_decode_pipeline_t pipeline = EXR_DECODE_PIPELINE_INITIALIZER;
    for (int y = window.min.y; y <= window.max.y; y += rows) {
        exr_chunk_info_t chunk;
        if (exr_read_scanline_chunk_info(file, 0, y, &chunk)) return 3;
        int first = y == window.min.y;
        if (first ? exr_decoding_initialize(file, 0, &chunk, &pipeline)
                  : exr_decoding_update(file, 0, &chunk, &pipeline)) {
            return 4;
        }
        for (int c = 0; c < pipeline.channel_count; c++) {
            exr_coding_channel_info_t *channel = &pipeline.channels[c];
            channel->decode_to_ptr = pixels + (size_t)(y - window.min.y) * width * pixel + (size_t)(c * bytes);
            channel->user_pixel_stride = (int32_t)pixel;
            channel->user_line_stride = (int32_t)(width * pixel);
            channel->user_bytes_per_element = (int16_t)bytes;
            channel->user_data_type = bytes == 2 ? EXR_PIXEL_HALF : EXR_PIXEL_FLOAT;
        }
        if (first && exr_decoding_choose_default_routines(file, 0, &pipeline)) return 5;
        if (exr_decoding_run(file, 0, &pipeline)) return 6;
    }
    exr_decoding_destroy(file, &pipeline);
    exr_finish(&file);
    return 0;
}
