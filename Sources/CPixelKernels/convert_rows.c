/* convert_rows.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "convert_rows.h"

#include <string.h>

#include "widest.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* value / 255, rounded to nearest, for products of bytes; there are no ties. */
PIXEL_INLINE uint32_t over_255(uint32_t value) {
    value += 128;
    return (value + (value >> 8)) >> 8;
}

/* value / 65535, rounded to nearest, for products of words. */
PIXEL_INLINE uint32_t over_65535(uint32_t value) {
    value += 32768;
    return (value + (value >> 16)) >> 16;
}

/* MARK: Moving */

PIXEL_INLINE void expand_rgb(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
    for (uint64_t x = 0; x < count; x++) {
        target[4 * x] = source[3 * x + (swaps ? 2 : 0)];
        target[4 * x + 1] = source[3 * x + 1];
        target[4 * x + 2] = source[3 * x + (swaps ? 0 : 2)];
        target[4 * x + 3] = 255;
    }
}

PIXEL_INLINE void drop_alpha(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
    for (uint64_t x = 0; x < count; x++) {
        target[3 * x] = source[4 * x + (swaps ? 2 : 0)];
        target[3 * x + 1] = source[4 * x + 1];
        target[3 * x + 2] = source[4 * x + (swaps ? 0 : 2)];
    }
}

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2")))

/* Eight pixels at a time; a load reads four bytes too many, so the last pixels are left to the portable loop. */
static AVX2 void expand_rgb_avx2(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
    const __m256i order = _mm256_broadcastsi128_si256(
        swaps ? _mm_setr_epi8(2, 1, 0, -1, 5, 4, 3, -1, 8, 7, 6, -1, 11, 10, 9, -1)
              : _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
    const __m256i full = _mm256_set1_epi32((int32_t)0xff000000);
    uint64_t x = 0;
    for (; x + 10 <= count; x += 8) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(source + 3 * x));
        const __m128i second = _mm_loadu_si128((const __m128i *)(source + 3 * x + 12));
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
        _mm256_storeu_si256(
            (__m256i *)(target + 4 * x), _mm256_or_si256(_mm256_shuffle_epi8(both, order), full));
    }
    expand_rgb(source + 3 * x, target + 4 * x, count - x, swaps);
}

/* Eight pixels at a time; a store writes four bytes too many, which the next pixels overwrite. */
static AVX2 void drop_alpha_avx2(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
    const __m256i order = _mm256_broadcastsi128_si256(
        swaps ? _mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1)
              : _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    uint64_t x = 0;
    for (; x + 10 <= count; x += 8) {
        const __m256i packed =
            _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(source + 4 * x)), order);
        _mm_storeu_si128((__m128i *)(target + 3 * x), _mm256_castsi256_si128(packed));
        _mm_storeu_si128((__m128i *)(target + 3 * x + 12), _mm256_extracti128_si256(packed, 1));
    }
    drop_alpha(source + 4 * x, target + 3 * x, count - x, swaps);
}
#endif

void pixel_expand_rgb(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        expand_rgb_avx2(source, target, count, swaps);
        return;
    }
#endif
    expand_rgb(source, target, count, swaps);
}

void pixel_drop_alpha(const uint8_t *source, uint8_t *target, uint64_t count, int32_t swaps) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        drop_alpha_avx2(source, target, count, swaps);
        return;
    }
#endif
    drop_alpha(source, target, count, swaps);
}

PIXEL_INLINE void pixel_swap_colors_body(const uint8_t *source, uint8_t *target, uint64_t count) {
    for (uint64_t x = 0; x < count; x++) {
        uint8_t pixel[4];
        memcpy(pixel, source + 4 * x, 4);
        const uint8_t swapped[4] = {pixel[2], pixel[1], pixel[0], pixel[3]};
        memcpy(target + 4 * x, swapped, 4);
    }
}
PIXEL_WIDEST(pixel_swap_colors, (const uint8_t *source, uint8_t *target, uint64_t count), (source, target, count))

PIXEL_INLINE void pixel_expand_gray_body(const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels) {
    if (channels == 4) {
        for (uint64_t x = 0; x < count; x++) {
            const uint8_t pixel[4] = {source[x], source[x], source[x], 255};
            memcpy(target + 4 * x, pixel, 4);
        }
        return;
    }
    for (uint64_t x = 0; x < count; x++) {
        target[3 * x] = source[x];
        target[3 * x + 1] = source[x];
        target[3 * x + 2] = source[x];
    }
}
PIXEL_WIDEST(pixel_expand_gray,
    (const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels), (source, target, count, channels))

/* MARK: Depth */

PIXEL_INLINE void pixel_narrow_body(const void *source, uint8_t *target, uint64_t samples) {
    for (uint64_t x = 0; x < samples; x++) {
        uint16_t word;
        memcpy(&word, (const uint8_t *)source + 2 * x, 2);
        target[x] = (uint8_t)(word >> 8);
    }
}
PIXEL_WIDEST(pixel_narrow, (const void *source, uint8_t *target, uint64_t samples), (source, target, samples))

PIXEL_INLINE void pixel_widen_body(const uint8_t *source, void *target, uint64_t samples) {
    for (uint64_t x = 0; x < samples; x++) {
        const uint16_t word = (uint16_t)(source[x] * 257);
        memcpy((uint8_t *)target + 2 * x, &word, 2);
    }
}
PIXEL_WIDEST(pixel_widen, (const uint8_t *source, void *target, uint64_t samples), (source, target, samples))

/* MARK: Alpha */

PIXEL_INLINE void premultiply_8(const uint8_t *source, uint8_t *target, uint64_t count, uint64_t channels) {
    for (uint64_t x = 0; x < count; x++, source += channels, target += channels) {
        const uint32_t alpha = source[channels - 1];
        for (uint64_t c = 0; c < channels - 1; c++) target[c] = (uint8_t)over_255(source[c] * alpha);
        target[channels - 1] = (uint8_t)alpha;
    }
}
PIXEL_INLINE void pixel_premultiply_8_body(
    const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels) {
    if (channels == 2) premultiply_8(source, target, count, 2);
    else premultiply_8(source, target, count, 4);
}
PIXEL_WIDEST(pixel_premultiply_8,
    (const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels), (source, target, count, channels))

/* Single floats are exact enough: the numerator has 16 bits, and adding half a part of the divisor keeps whole
   quotients exact. */
PIXEL_INLINE void unpremultiply_8(const uint8_t *source, uint8_t *target, uint64_t count, uint64_t channels) {
    for (uint64_t x = 0; x < count; x++, source += channels, target += channels) {
        const uint32_t alpha = source[channels - 1];
        const float divisor = 1.0f / (float)(alpha == 0 ? 1 : alpha);
        for (uint64_t c = 0; c < channels - 1; c++) {
            const float value = ((float)(source[c] * 255u + alpha / 2) + 0.25f) * divisor;
            target[c] = (uint8_t)(alpha == 0 ? 0 : value < 255 ? value : 255);
        }
        target[channels - 1] = (uint8_t)alpha;
    }
}
PIXEL_INLINE void pixel_unpremultiply_8_body(
    const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels) {
    if (channels == 2) unpremultiply_8(source, target, count, 2);
    else unpremultiply_8(source, target, count, 4);
}
PIXEL_WIDEST(pixel_unpremultiply_8,
    (const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels), (source, target, count, channels))

PIXEL_INLINE void load_words(const void *source, uint64_t at, uint64_t channels, uint16_t *pixel) {
    memcpy(pixel, (const uint8_t *)source + at * channels * 2, channels * 2);
}
PIXEL_INLINE void store_words(void *target, uint64_t at, uint64_t channels, const uint16_t *pixel) {
    memcpy((uint8_t *)target + at * channels * 2, pixel, channels * 2);
}

PIXEL_INLINE void premultiply_16(const void *source, void *target, uint64_t count, uint64_t channels) {
    for (uint64_t x = 0; x < count; x++) {
        uint16_t pixel[4];
        load_words(source, x, channels, pixel);
        const uint32_t alpha = pixel[channels - 1];
        for (uint64_t c = 0; c < channels - 1; c++) pixel[c] = (uint16_t)over_65535(pixel[c] * alpha);
        store_words(target, x, channels, pixel);
    }
}
PIXEL_INLINE void pixel_premultiply_16_body(const void *source, void *target, uint64_t count, int32_t channels) {
    if (channels == 2) premultiply_16(source, target, count, 2);
    else premultiply_16(source, target, count, 4);
}
PIXEL_WIDEST(pixel_premultiply_16,
    (const void *source, void *target, uint64_t count, int32_t channels), (source, target, count, channels))

PIXEL_INLINE void unpremultiply_16(const void *source, void *target, uint64_t count, uint64_t channels) {
    for (uint64_t x = 0; x < count; x++) {
        uint16_t pixel[4];
        load_words(source, x, channels, pixel);
        const uint32_t alpha = pixel[channels - 1];
        for (uint64_t c = 0; c < channels - 1; c++) {
            const uint32_t value = alpha == 0 ? 0 : (pixel[c] * 65535u + alpha / 2) / alpha;
            pixel[c] = (uint16_t)(value < 65535 ? value : 65535);
        }
        store_words(target, x, channels, pixel);
    }
}
void pixel_unpremultiply_16(const void *source, void *target, uint64_t count, int32_t channels) {
    if (channels == 2) unpremultiply_16(source, target, count, 2);
    else unpremultiply_16(source, target, count, 4);
}

PIXEL_INLINE void flatten(
    const uint8_t *source, uint8_t *target, uint64_t count, uint64_t channels, int32_t swaps,
    const uint8_t *background) {
    const uint32_t under[3] = {background[0], background[1], background[2]};
    for (uint64_t x = 0; x < count; x++, source += 4, target += channels) {
        const uint32_t alpha = source[3];
        for (uint64_t c = 0; c < 3; c++) {
            const uint32_t value = source[swaps ? 2 - c : c];
            target[c] = (uint8_t)over_255(value * alpha + under[c] * (255 - alpha));
        }
        if (channels == 4) target[3] = 255;
    }
}
PIXEL_INLINE void pixel_flatten_body(
    const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels, int32_t swaps,
    const uint8_t background[3]) {
    if (channels == 4 && swaps) flatten(source, target, count, 4, 1, background);
    else if (channels == 4) flatten(source, target, count, 4, 0, background);
    else if (swaps) flatten(source, target, count, 3, 1, background);
    else flatten(source, target, count, 3, 0, background);
}
PIXEL_WIDEST(pixel_flatten,
    (const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels, int32_t swaps,
     const uint8_t background[3]),
    (source, target, count, channels, swaps, background))

PIXEL_INLINE void inks_to_light(const uint8_t *source, uint8_t *target, uint64_t count, uint64_t channels) {
    for (uint64_t x = 0; x < count; x++, source += 4, target += channels) {
        const uint32_t light = 255u - source[3];
        for (uint64_t c = 0; c < 3; c++) target[c] = (uint8_t)over_255((255u - source[c]) * light);
        if (channels == 4) target[3] = 255;
    }
}
PIXEL_INLINE void pixel_inks_to_light_body(
    const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels) {
    if (channels == 4) inks_to_light(source, target, count, 4);
    else inks_to_light(source, target, count, 3);
}
PIXEL_WIDEST(pixel_inks_to_light,
    (const uint8_t *source, uint8_t *target, uint64_t count, int32_t channels), (source, target, count, channels))
