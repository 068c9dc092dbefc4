/* zimg_shim.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "zimg_shim.h"

#include <zimg.h>

uint32_t zimgshim_version(void) {
    unsigned major = 0, minor = 0, micro = 0;
    zimg_get_version_info(&major, &minor, &micro);
    return major << 16 | minor << 8 | micro;
}
