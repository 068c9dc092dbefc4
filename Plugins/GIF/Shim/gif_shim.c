/*
 * gif_shim.c - reads one frame after another with giflib's record functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gif_shim.h"

#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

struct gifshim_reader {
    GifFileType   *gif;
    const uint8_t *bytes;
    uint64_t       count, position;
    uint8_t       *rgba;
};

static int on_read(GifFileType *gif, GifByteType *buffer, int count) {
    gifshim_reader *r = gif->UserData;
    uint64_t left = r->count - r->position;
    if ((uint64_t)count > left) count = (int)left;
    memcpy(buffer, r->bytes + r->position, (size_t)count);
    r->position += (uint64_t)count;
    return count;
}

gifshim_reader *gifshim_open(const uint8_t *bytes, uint64_t count) {
    gifshim_reader *r = calloc(1, sizeof *r);
    int error = 0;
    if (!r) return NULL;
    r->bytes = bytes;
    r->count = count;
    r->gif = DGifOpen(r, on_read, &error);
    if (r->gif) return r;
    free(r);
    return NULL;
}

void gifshim_close(gifshim_reader *r) {
    int error = 0;
    if (!r) return;
    DGifCloseFile(r->gif, &error);
    free(r->rgba);
    free(r);
}

static int read_pixels(gifshim_reader *r, gifshim_frame *frame) {
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    const ColorMapObject *map = r->gif->Image.ColorMap ? r->gif->Image.ColorMap : r->gif->SColorMap;
    size_t width = frame->width, height = frame->height;
    free(r->rgba);
    r->rgba = calloc(width * height + 1, 4);
    uint8_t *line = malloc(width + 1);
    int passes = r->gif->Image.Interlace ? 4 : 1, ok = r->rgba && line && map;
    for (int pass = 0; pass < passes && ok; pass++) {
        size_t y = passes == 4 ? (size_t)first[pass] : 0;
        for (; y < height && ok; y += passes == 4 ? (size_t)step[pass] : 1) {
            ok = DGifGetLine(r->gif, line, (int)width) == GIF_OK;
            for (size_t x = 0; x < width && ok; x++) {
                uint8_t *pixel = r->rgba + (y * width + x) * 4;
                if (line[x] == frame->transparent) continue;
                if (line[x] < map->ColorCount) {
                    pixel[0] = map->Colors[line[x]].Red;
                    pixel[1] = map->Colors[line[x]].Green;
                    pixel[2] = map->Colors[line[x]].Blue;
                }
                pixel[3] = 255;
            }
        }
    }
    free(line);
    frame->rgba = r->rgba;
    return ok;
}

int32_t gifshim_next(gifshim_reader *r, gifshim_frame *frame) {
    GraphicsControlBlock control = {0, false, 0, NO_TRANSPARENT_COLOR};
    GifRecordType type;
    do {
        if (DGifGetRecordType(r->gif, &type) != GIF_OK) return -1;
        if (type == EXTENSION_RECORD_TYPE) {
            int code;
            GifByteType *block;
            if (DGifGetExtension(r->gif, &code, &block) != GIF_OK) return -1;
            if (code == GRAPHICS_EXT_FUNC_CODE && block) DGifExtensionToGCB(block[0], block + 1, &control);
            while (block)
                if (DGifGetExtensionNext(r->gif, &block) != GIF_OK) return -1;
        } else if (type == IMAGE_DESC_RECORD_TYPE) {
            if (DGifGetImageDesc(r->gif) != GIF_OK) return -1;
            frame->x = (uint32_t)r->gif->Image.Left;
            frame->y = (uint32_t)r->gif->Image.Top;
            frame->width = (uint32_t)r->gif->Image.Width;
            frame->height = (uint32_t)r->gif->Image.Height;
            frame->delay = (uint32_t)control.DelayTime;
            frame->disposal = (uint32_t)control.DisposalMode;
            frame->transparent = control.TransparentColor;
            return read_pixels(r, frame) ? 1 : -1;
        }
    } while (type != TERMINATE_RECORD_TYPE);
    return 0;
}
