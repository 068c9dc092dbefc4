/* turn_pixels.c - moves pixels for an orientation. SPDX-License-Identifier: Apache-2.0 */
#include "turn_pixels.h"

#include "vectors.h"

typedef uint32_t v8u __attribute__((vector_size(32)));

/* Copies a row in reverse order. */
INLINED void reverse(const uint8_t *from, uint8_t *to, uint64_t count, const uint32_t bytes) {
    const uint8_t *at = from + (count - 1) * bytes;
    for (uint64_t x = 0; x < count; x++) memcpy(to + x * bytes, at - x * bytes, bytes);
}

INLINED void reverse_words(const uint8_t *from, uint8_t *to, uint64_t count) {
    uint64_t x = 0;
    for (; x + 8 <= count; x += 8) {
        v8u pixels;
        memcpy(&pixels, from + 4 * (count - 8 - x), sizeof pixels);
        pixels = __builtin_shufflevector(pixels, pixels, 7, 6, 5, 4, 3, 2, 1, 0);
        memcpy(to + 4 * x, &pixels, sizeof pixels);
    }
    for (; x < count; x++) memcpy(to + 4 * x, from + 4 * (count - 1 - x), 4);
}

INLINED void reverse_any(const uint8_t *from, uint8_t *to, uint64_t count, uint32_t bytes) {
    switch (bytes) {
    case 1: reverse(from, to, count, 1); break;
    case 2: reverse(from, to, count, 2); break;
    case 3: reverse(from, to, count, 3); break;
    case 4: reverse_words(from, to, count); break;
    case 6: reverse(from, to, count, 6); break;
    case 8: reverse(from, to, count, 8); break;
    default: reverse(from, to, count, bytes);
    }
}

KERNEL(pixel_reverse, reverse_any, (const uint8_t *from, uint8_t *to, uint64_t count, uint32_t bytes),
       (from, to, count, bytes))

/* Transposes a block of 8 x 8 pixels. */
INLINED void block(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride) {
    v8u r[8], s[8], t[8];
    for (int i = 0; i < 8; i++) memcpy(&r[i], from + i * from_stride, 32);
    for (int i = 0; i < 8; i += 2) {
        s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        t[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        t[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        t[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        t[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (int i = 0; i < 4; i++) {
        v8u low = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v8u high = __builtin_shufflevector(t[i], t[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        memcpy(to + i * to_stride, &low, 32);
        memcpy(to + (i + 4) * to_stride, &high, 32);
    }
}

INLINED void transpose_part(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, uint64_t columns,
                            uint64_t rows, const uint32_t bytes) {
    for (uint64_t x = 0; x < columns; x++) {
        for (uint64_t y = 0; y < rows; y++) {
            memcpy(to + (int64_t)x * to_stride + y * bytes, from + (int64_t)y * from_stride + x * bytes, bytes);
        }
    }
}

/* Works in tiles, so that the cache lines of both images stay in the cache. */
enum { TILE = 16 };

INLINED void transpose(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, uint64_t columns,
                       uint64_t rows, const uint32_t bytes) {
    for (uint64_t left = 0; left < columns; left += TILE) {
        uint64_t width = columns - left < TILE ? columns - left : TILE;
        for (uint64_t top = 0; top < rows; top += TILE) {
            uint64_t height = rows - top < TILE ? rows - top : TILE;
            const uint8_t *source = from + (int64_t)top * from_stride + left * bytes;
            uint8_t *target = to + (int64_t)left * to_stride + top * bytes;
            if (bytes == 4 && width == TILE && height == TILE) {
                for (int x = 0; x < TILE; x += 8) {
                    for (int y = 0; y < TILE; y += 8) {
                        block(source + y * from_stride + x * 4, from_stride, target + x * to_stride + y * 4, to_stride);
                    }
                }
            } else if (width == TILE && height == TILE) {
                transpose_part(source, from_stride, target, to_stride, TILE, TILE, bytes);
            } else {
                transpose_part(source, from_stride, target, to_stride, width, height, bytes);
            }
        }
    }
}

INLINED void transpose_any(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, uint64_t columns,
                           uint64_t rows, uint32_t bytes) {
    switch (bytes) {
    case 1: transpose(from, from_stride, to, to_stride, columns, rows, 1); break;
    case 2: transpose(from, from_stride, to, to_stride, columns, rows, 2); break;
    case 3: transpose(from, from_stride, to, to_stride, columns, rows, 3); break;
    case 4: transpose(from, from_stride, to, to_stride, columns, rows, 4); break;
    case 6: transpose(from, from_stride, to, to_stride, columns, rows, 6); break;
    case 8: transpose(from, from_stride, to, to_stride, columns, rows, 8); break;
    default: transpose(from, from_stride, to, to_stride, columns, rows, bytes);
    }
}

KERNEL(pixel_transpose, transpose_any,
       (const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, uint64_t columns, uint64_t rows,
        uint32_t bytes),
       (from, from_stride, to, to_stride, columns, rows, bytes))

void pixel_turn(const void *source, uint64_t source_stride, void *target, uint64_t target_stride, uint64_t width,
                uint64_t height, uint32_t bytes, uint32_t orientation) {
    const uint8_t *from = source;
    uint8_t *to = target;
    int64_t from_stride = (int64_t)source_stride, to_stride = (int64_t)target_stride;
    /* 3, 4, 6 and 7 begin with the last row of the source. */
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
        from += (height - 1) * source_stride;
        from_stride = -from_stride;
    }
    if (orientation >= 5) {
        /* 7 and 8 begin with its last column, which is the first row of the target. */
        if (orientation >= 7) {
            to += (width - 1) * target_stride;
            to_stride = -to_stride;
        }
        pixel_transpose(from, from_stride, to, to_stride, width, height, bytes);
        return;
    }
    for (uint64_t y = 0; y < height; y++) {
        if (orientation == 2 || orientation == 3) pixel_reverse(from, to, width, bytes);
        else memcpy(to, from, width * bytes);
        from += from_stride;
        to += to_stride;
    }
}
