/*
 * webp_player.h - libwebp as a reference: the tests compare every composited frame with WebPAnimDecoder's. No plugin
 * uses it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEBP_PLAYER_H
#define WEBP_PLAYER_H

#include <stdint.h>

/*
 * Encodes RGBA without loss, colors of transparent pixels included, and returns the size of the file; 0 on failure.
 * The caller frees the file with webpplayer_free.
 */
uint64_t webpplayer_encode(const uint8_t *rgba, uint32_t width, uint32_t height, uint8_t **file);
void     webpplayer_free(uint8_t *file);
/*
 * Composites the frames of an animation into `pixels`, which holds `room` bytes: RGBA, one canvas after the other.
 * Returns the number of frames; -1 on failure.
 */
int32_t webpplayer_play(const uint8_t *file, uint64_t count, uint8_t *pixels, uint64_t room);

#endif
