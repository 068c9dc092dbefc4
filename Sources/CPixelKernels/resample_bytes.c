/* resample_bytes.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "resample_bytes.h"

#include "widest.h"

#pragma STDC FP_CONTRACT OFF

enum {
    SHIFT = 14,
    /* Converts a weighted sum of external samples to an internal sample. */
    SHIFT_BYTES = SHIFT - 6,
};

PIXEL_INLINE int16_t word(int32_t value) {
    return (int16_t)(value > INT16_MAX ? INT16_MAX : value < INT16_MIN ? INT16_MIN : value);
}

/* MARK: In */

PIXEL_INLINE void premultiply(const uint8_t *source, int16_t *target, uint64_t width, uint64_t channels) {
    for (uint64_t x = 0; x < width; x++, source += channels, target += channels) {
        const uint32_t alpha = source[channels - 1];
        /* 16449 / 65536 is 64 / 255, and exact for a full alpha. */
        for (uint64_t c = 0; c < channels - 1; c++) target[c] = (int16_t)(source[c] * alpha * 16449 >> 16);
        target[channels - 1] = (int16_t)(alpha * 64);
    }
}

PIXEL_INLINE void pixel_bytes_premultiply_body(
    const uint8_t *source, int16_t *target, uint64_t width, int32_t channels) {
    if (channels == 2) premultiply(source, target, width, 2);
    else premultiply(source, target, width, 4);
}

PIXEL_INLINE void pixel_bytes_add_body(const uint8_t *source, uint32_t *sums, uint64_t samples) {
    for (uint64_t x = 0; x < samples; x++) sums[x] += source[x];
}
PIXEL_WIDEST(pixel_bytes_add, (const uint8_t *source, uint32_t *sums, uint64_t samples), (source, sums, samples))

PIXEL_INLINE void pixel_words_add_body(const int16_t *source, uint32_t *sums, uint64_t samples) {
    for (uint64_t x = 0; x < samples; x++) sums[x] += (uint32_t)source[x];
}
PIXEL_WIDEST(pixel_words_add, (const int16_t *source, uint32_t *sums, uint64_t samples), (source, sums, samples))

PIXEL_INLINE void bin(
    const uint32_t *sums, int16_t *target, uint64_t width, uint64_t channels, uint64_t factor, uint64_t rows,
    int32_t one_step) {
    uint64_t last = 0, share = 0;
    for (uint64_t x = 0; x < width; x += factor, target += channels) {
        const uint64_t pixels = width - x < factor ? width - x : factor;
        uint64_t totals[4] = {0, 0, 0, 0};
        for (uint64_t p = 0; p < pixels; p++, sums += channels) {
            for (uint64_t c = 0; c < channels; c++) totals[c] += sums[c];
        }
        /* Replaces the division by a multiplication; most pixels have the same divisor. */
        if (pixels != last) share = ((uint64_t)one_step << 32) / (pixels * rows);
        last = pixels;
        for (uint64_t c = 0; c < channels; c++) target[c] = (int16_t)((totals[c] * share + (1u << 31)) >> 32);
    }
}

void pixel_sums_bin(
    const uint32_t *sums, int16_t *target, uint64_t width, int32_t channels, uint64_t factor, uint64_t rows,
    int32_t one_step) {
    switch (channels) {
    case 1: bin(sums, target, width, 1, factor, rows, one_step); return;
    case 2: bin(sums, target, width, 2, factor, rows, one_step); return;
    case 3: bin(sums, target, width, 3, factor, rows, one_step); return;
    default: bin(sums, target, width, 4, factor, rows, one_step);
    }
}

/* MARK: Down */

/* Processes the rest after the AVX2 loops, or everything on other processors. */
PIXEL_INLINE void bytes_down(
    const uint8_t *const *rows, const int16_t *weights, uint64_t count, int16_t *target, uint64_t from, uint64_t to) {
    for (uint64_t x = from; x < to; x++) {
        int32_t sum = 1 << (SHIFT_BYTES - 1);
        for (uint64_t r = 0; r < count; r++) sum += rows[r][x] * weights[r];
        target[x] = word(sum >> SHIFT_BYTES);
    }
}

PIXEL_INLINE void words_down(
    const int16_t *const *rows, const int16_t *weights, uint64_t count, int16_t *target, uint64_t from, uint64_t to) {
    for (uint64_t x = from; x < to; x++) {
        int32_t sum = 1 << (SHIFT - 1);
        for (uint64_t r = 0; r < count; r++) sum += rows[r][x] * weights[r];
        target[x] = word(sum >> SHIFT);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))

/* Eight pixels of four channels at a time. */
static AVX2 void premultiply_avx2(const uint8_t *source, int16_t *target, uint64_t width, uint64_t channels) {
    const uint64_t samples = width * channels;
    const __m256i factor = _mm256_set1_epi16(16449);
    const __m128i alphas = channels == 4
        ? _mm_setr_epi8(6, -1, 6, -1, 6, -1, 6, -1, 14, -1, 14, -1, 14, -1, 14, -1)
        : _mm_setr_epi8(2, -1, 2, -1, 6, -1, 6, -1, 10, -1, 10, -1, 14, -1, 14, -1);
    const __m256i pick = _mm256_broadcastsi128_si256(alphas);
    uint64_t x = 0;
    for (; x + 16 <= samples; x += 16) {
        const __m256i words = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(source + x)));
        const __m256i alpha = _mm256_shuffle_epi8(words, pick);
        const __m256i product = _mm256_mulhi_epu16(_mm256_mullo_epi16(words, alpha), factor);
        const __m256i full = _mm256_slli_epi16(words, 6);
        const __m256i result = channels == 4 ? _mm256_blend_epi16(product, full, 0x88)
                                             : _mm256_blend_epi16(product, full, 0xaa);
        _mm256_storeu_si256((__m256i *)(target + x), result);
    }
    if (channels == 4) premultiply(source + x, target + x, (samples - x) / 4, 4);
    else premultiply(source + x, target + x, (samples - x) / 2, 2);
}

static AVX2 void bytes_down_avx2(
    const uint8_t *const *rows, const int16_t *weights, uint64_t count, int16_t *target, uint64_t samples) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i half = _mm256_set1_epi32(1 << (SHIFT_BYTES - 1));
    uint64_t x = 0;
    for (; x + 32 <= samples; x += 32) {
        __m256i s0 = half, s1 = half, s2 = half, s3 = half;
        for (uint64_t r = 0; r < count; r += 2) {
            const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[r] + x));
            const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[r + 1] + x));
            int32_t pair;
            __builtin_memcpy(&pair, weights + r, 4);
            const __m256i weight = _mm256_set1_epi32(pair);
            const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weight));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weight));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weight));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weight));
        }
        const __m256i first = _mm256_packs_epi32(
            _mm256_srai_epi32(s0, SHIFT_BYTES), _mm256_srai_epi32(s1, SHIFT_BYTES));
        const __m256i second = _mm256_packs_epi32(
            _mm256_srai_epi32(s2, SHIFT_BYTES), _mm256_srai_epi32(s3, SHIFT_BYTES));
        _mm256_storeu_si256((__m256i *)(target + x), _mm256_permute2x128_si256(first, second, 0x20));
        _mm256_storeu_si256((__m256i *)(target + x + 16), _mm256_permute2x128_si256(first, second, 0x31));
    }
    bytes_down(rows, weights, count, target, x, samples);
}

static AVX2 void words_down_avx2(
    const int16_t *const *rows, const int16_t *weights, uint64_t count, int16_t *target, uint64_t samples) {
    const __m256i half = _mm256_set1_epi32(1 << (SHIFT - 1));
    uint64_t x = 0;
    for (; x + 32 <= samples; x += 32) {
        __m256i s0 = half, s1 = half, s2 = half, s3 = half;
        for (uint64_t r = 0; r < count; r += 2) {
            const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[r] + x));
            const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[r + 1] + x));
            const __m256i c = _mm256_loadu_si256((const __m256i *)(rows[r] + x + 16));
            const __m256i d = _mm256_loadu_si256((const __m256i *)(rows[r + 1] + x + 16));
            int32_t pair;
            __builtin_memcpy(&pair, weights + r, 4);
            const __m256i weight = _mm256_set1_epi32(pair);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weight));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weight));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi16(c, d), weight));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi16(c, d), weight));
        }
        _mm256_storeu_si256(
            (__m256i *)(target + x),
            _mm256_packs_epi32(_mm256_srai_epi32(s0, SHIFT), _mm256_srai_epi32(s1, SHIFT)));
        _mm256_storeu_si256(
            (__m256i *)(target + x + 16),
            _mm256_packs_epi32(_mm256_srai_epi32(s2, SHIFT), _mm256_srai_epi32(s3, SHIFT)));
    }
    words_down(rows, weights, count, target, x, samples);
}
#endif

void pixel_bytes_premultiply(const uint8_t *source, int16_t *target, uint64_t width, int32_t channels) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        if (channels == 4) premultiply_avx2(source, target, width, 4);
        else premultiply_avx2(source, target, width, 2);
        return;
    }
#endif
    pixel_bytes_premultiply_body(source, target, width, channels);
}

void pixel_bytes_weigh_down(
    const uint8_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples) {
    const uint8_t *rows[PIXEL_MOST_ROWS];
    for (uint64_t r = 0; r < count; r++) rows[r] = ring + (first + r) % slots * stride;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        bytes_down_avx2(rows, weights, count, target, samples);
        return;
    }
#endif
    bytes_down(rows, weights, count, target, 0, samples);
}

void pixel_words_weigh_down(
    const int16_t *ring, uint64_t stride, uint64_t slots, uint64_t first, const int16_t *weights, uint64_t count,
    int16_t *target, uint64_t samples) {
    const int16_t *rows[PIXEL_MOST_ROWS];
    for (uint64_t r = 0; r < count; r++) rows[r] = ring + (first + r) % slots * stride;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        words_down_avx2(rows, weights, count, target, samples);
        return;
    }
#endif
    words_down(rows, weights, count, target, 0, samples);
}

/* MARK: Across */

int32_t pixel_words_tap_group(int32_t channels) { return channels == 1 ? 16 : channels == 2 ? 8 : 4; }

PIXEL_INLINE void across(
    const int16_t *source, int16_t *target, uint64_t width, uint64_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps) {
    for (uint64_t x = 0; x < width; x++, weights += taps, target += channels) {
        const int16_t *pixel = source + (uint64_t)starts[x] * channels;
        int32_t sums[4] = {0, 0, 0, 0};
        for (uint64_t t = 0; t < taps; t++, pixel += channels) {
            for (uint64_t c = 0; c < channels; c++) sums[c] += pixel[c] * weights[t];
        }
        for (uint64_t c = 0; c < channels; c++) target[c] = word((sums[c] + (1 << (SHIFT - 1))) >> SHIFT);
    }
}

static void across_plain(
    const int16_t *source, int16_t *target, uint64_t width, int32_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps) {
    switch (channels) {
    case 1: across(source, target, width, 1, starts, weights, taps); return;
    case 2: across(source, target, width, 2, starts, weights, taps); return;
    case 3: across(source, target, width, 3, starts, weights, taps); return;
    default: across(source, target, width, 4, starts, weights, taps);
    }
}

#if defined(__x86_64__)
/* 16 taps of one channel at a time. */
static AVX2 void across_1(
    const int16_t *source, int16_t *target, uint64_t width, const int32_t *starts, const int16_t *weights,
    uint64_t taps) {
    for (uint64_t x = 0; x < width; x++, weights += taps) {
        const int16_t *pixel = source + starts[x];
        __m256i sum = _mm256_setzero_si256();
        for (uint64_t t = 0; t < taps; t += 16) {
            const __m256i samples = _mm256_loadu_si256((const __m256i *)(pixel + t));
            const __m256i weight = _mm256_loadu_si256((const __m256i *)(weights + t));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weight));
        }
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1));
        target[x] = word((_mm_cvtsi128_si32(four) + (1 << (SHIFT - 1))) >> SHIFT);
    }
}

/* 8 taps of two channels; pairs of the same channel are adjacent, as the multiplication requires. */
static AVX2 void across_2(
    const int16_t *source, int16_t *target, uint64_t width, const int32_t *starts, const int16_t *weights,
    uint64_t taps) {
    const __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    for (uint64_t x = 0; x < width; x++, weights += taps, target += 2) {
        const int16_t *pixel = source + 2 * (int64_t)starts[x];
        __m256i sum = _mm256_setzero_si256();
        for (uint64_t t = 0; t < taps; t += 8) {
            const __m256i samples =
                _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(pixel + 2 * t)), pairs);
            const __m256i weight = _mm256_permutevar8x32_epi32(
                _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(weights + t))), twice);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(samples, weight));
        }
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
        four = _mm_srai_epi32(_mm_add_epi32(four, _mm_set1_epi32(1 << (SHIFT - 1))), SHIFT);
        const int32_t both = _mm_cvtsi128_si32(_mm_packs_epi32(four, four));
        __builtin_memcpy(target, &both, 4);
    }
}

/* 4 taps of three or four channels. Three are written as four; the next pixel overwrites the fourth. */
static inline __attribute__((always_inline)) AVX2 void across_34(
    const int16_t *source, int16_t *target, uint64_t width, int64_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps) {
    const __m256i pairs = _mm256_broadcastsi128_si256(
        channels == 4 ? _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15)
                      : _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));
    const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
    const __m128i half = _mm_set1_epi32(1 << (SHIFT - 1));
    for (uint64_t x = 0; x < width; x++, weights += taps, target += channels) {
        const int16_t *pixel = source + channels * starts[x];
        __m256i sum = _mm256_setzero_si256();
        for (uint64_t t = 0; t < taps; t += 4, pixel += 4 * channels) {
            const __m256i samples = channels == 4
                ? _mm256_loadu_si256((const __m256i *)pixel)
                : _mm256_inserti128_si256(
                    _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)pixel)),
                    _mm_loadu_si128((const __m128i *)(pixel + 6)), 1);
            const __m256i weight = _mm256_permutevar8x32_epi32(
                _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(weights + t))), spread);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(samples, pairs), weight));
        }
        __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        four = _mm_srai_epi32(_mm_add_epi32(four, half), SHIFT);
        _mm_storel_epi64((__m128i *)target, _mm_packs_epi32(four, four));
    }
}
static AVX2 void across_avx2(
    const int16_t *source, int16_t *target, uint64_t width, int32_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps) {
    switch (channels) {
    case 1: across_1(source, target, width, starts, weights, taps); return;
    case 2: across_2(source, target, width, starts, weights, taps); return;
    case 3: across_34(source, target, width, 3, starts, weights, taps); return;
    default: across_34(source, target, width, 4, starts, weights, taps);
    }
}
#endif

void pixel_words_weigh_across(
    const int16_t *source, int16_t *target, uint64_t width, int32_t channels, const int32_t *starts,
    const int16_t *weights, uint64_t taps) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        across_avx2(source, target, width, channels, starts, weights, taps);
        return;
    }
#endif
    across_plain(source, target, width, channels, starts, weights, taps);
}

/* MARK: Out */

PIXEL_INLINE uint8_t byte(int32_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

PIXEL_INLINE void pixel_words_store_body(const int16_t *source, uint8_t *target, uint64_t samples) {
    for (uint64_t x = 0; x < samples; x++) target[x] = byte((source[x] + 32) >> 6);
}
PIXEL_WIDEST(pixel_words_store, (const int16_t *source, uint8_t *target, uint64_t samples), (source, target, samples))

/* If alpha overshoots, the color overshoots by the same factor. Alpha below half a step counts as 0. */
PIXEL_INLINE void store_alpha(
    const int16_t *source, uint8_t *target, uint64_t width, int32_t channels, int32_t is_straight) {
    for (uint64_t x = 0; x < width; x++, source += channels, target += channels) {
        const int32_t alpha = source[channels - 1];
        const float seen = alpha < 32 ? 1e30f : (float)alpha;
        const float full = is_straight || alpha > PIXEL_FULL ? 255 : alpha < 32 ? 0 : (float)alpha * (1.0f / 64);
        const float factor = full / seen;
        for (int32_t c = 0; c < channels - 1; c++) {
            float value = (float)source[c] * factor;
            value = value > 0 ? value : 0;
            value = value < full ? value : full;
            target[c] = (uint8_t)(value + 0.5f);
        }
        target[channels - 1] = byte((alpha + 32) >> 6);
    }
}

PIXEL_INLINE void pixel_words_store_alpha_body(
    const int16_t *source, uint8_t *target, uint64_t width, int32_t channels, int32_t is_straight) {
    if (channels == 2) store_alpha(source, target, width, 2, is_straight);
    else store_alpha(source, target, width, 4, is_straight);
}
PIXEL_WIDEST(pixel_words_store_alpha,
    (const int16_t *source, uint8_t *target, uint64_t width, int32_t channels, int32_t is_straight),
    (source, target, width, channels, is_straight))
