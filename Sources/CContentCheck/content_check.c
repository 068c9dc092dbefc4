#include "content_check.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

content_check content_check_of(const void *bytes, size_t count) {
    XXH128_hash_t hash = XXH3_128bits(bytes, count);
    return (content_check){hash.low64, hash.high64};
}
