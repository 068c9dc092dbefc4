#include "webp_player.h"

#include <string.h>
#include <webp/demux.h>
#include <webp/encode.h>

uint64_t webpplayer_encode(const uint8_t *rgba, uint32_t width, uint32_t height, uint8_t **file) {
    WebPConfig       config;
    WebPPicture      image;
    WebPMemoryWriter writer;
    uint64_t         size = 0;
    if (!WebPConfigInit(&config) || !WebPPictureInit(&image)) return 0;
    config.lossless = config.exact = 1;
    image.use_argb                 = 1;
    image.width                    = (int)width;
    image.height                   = (int)height;
    image.writer                   = WebPMemoryWrite;
    image.custom_ptr               = &writer;
    WebPMemoryWriterInit(&writer);
    if (WebPPictureImportRGBA(&image, rgba, (int)width * 4) && WebPEncode(&config, &image)) {
        *file = writer.mem;
        size  = writer.size;
    } else {
        WebPMemoryWriterClear(&writer);
    }
    WebPPictureFree(&image);
    return size;
}

void webpplayer_free(uint8_t *file) { WebPFree(file); }

int32_t webpplayer_play(const uint8_t *file, uint64_t count, uint8_t *pixels, uint64_t room) {
    WebPData         data    = {.bytes = file, .size = count};
    WebPAnimDecoder *decoder = WebPAnimDecoderNew(&data, NULL);
    WebPAnimInfo     info;
    int32_t          frames = 0;
    if (!decoder) return -1;
    if (!WebPAnimDecoderGetInfo(decoder, &info)) frames = -1;
    while (frames >= 0 && WebPAnimDecoderHasMoreFrames(decoder)) {
        uint64_t bytes = (uint64_t)info.canvas_width * info.canvas_height * 4;
        uint8_t *canvas;
        int      time;
        if (room < bytes || !WebPAnimDecoderGetNext(decoder, &canvas, &time)) {
            frames = -1;
            break;
        }
        memcpy(pixels, canvas, bytes);
        pixels += bytes;
        room -= bytes;
        frames++;
    }
    WebPAnimDecoderDelete(decoder);
    return frames;
}
