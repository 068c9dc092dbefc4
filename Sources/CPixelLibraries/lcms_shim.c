/* lcms_shim.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "lcms_shim.h"

#include <lcms2.h>

int32_t lcmsshim_version(void) { return cmsGetEncodedCMMversion(); }
