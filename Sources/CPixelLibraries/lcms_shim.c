/* lcms_shim.c - see the header. SPDX-License-Identifier: Apache-2.0 */
#include "lcms_shim.h"

#include <lcms2.h>
#include <stdlib.h>

int32_t lcmsshim_version(void) { return cmsGetEncodedCMMversion(); }

static void ignore(cmsContext context, cmsUInt32Number code, const char *text) {
    (void)context;
    (void)code;
    (void)text;
}

static cmsContext quiet_context(void) {
    cmsContext context = cmsCreateContext(NULL, NULL);
    if (context) cmsSetLogErrorHandlerTHR(context, ignore);
    return context;
}

struct lcmsshim_profile {
    cmsContext context;
    cmsHPROFILE handle;
};

lcmsshim_profile *lcmsshim_profile_open(const void *bytes, uint64_t count) {
    if (count > UINT32_MAX) return NULL;
    lcmsshim_profile *profile = calloc(1, sizeof *profile);
    if (!profile) return NULL;
    profile->context = quiet_context();
    if (profile->context) profile->handle = cmsOpenProfileFromMemTHR(profile->context, bytes, (cmsUInt32Number)count);
    if (profile->handle) return profile;
    lcmsshim_profile_close(profile);
    return NULL;
}

void lcmsshim_profile_close(lcmsshim_profile *profile) {
    if (!profile) return;
    if (profile->handle) cmsCloseProfile(profile->handle);
    if (profile->context) cmsDeleteContext(profile->context);
    free(profile);
}

int32_t lcmsshim_profile_is_shaper(lcmsshim_profile *profile) {
    static const cmsTagSignature tables[] = {
        cmsSigAToB0Tag, cmsSigAToB1Tag, cmsSigDToB0Tag, cmsSigDToB1Tag,
    };
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        if (cmsIsTag(profile->handle, tables[i])) return 0;
    /* The matrix converts to XYZ; for Lab profiles the library does not use it. */
    if (cmsGetPCS(profile->handle) != cmsSigXYZData) return 0;
    if (cmsGetColorSpace(profile->handle) == cmsSigGrayData) return cmsIsTag(profile->handle, cmsSigGrayTRCTag);
    return cmsGetColorSpace(profile->handle) == cmsSigRgbData && cmsIsMatrixShaper(profile->handle);
}

int32_t lcmsshim_profile_matrix(lcmsshim_profile *profile, double *matrix) {
    static const cmsTagSignature columns[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag};
    for (int c = 0; c < 3; c++) {
        const cmsCIEXYZ *column = cmsReadTag(profile->handle, columns[c]);
        if (!column) return 0;
        matrix[c] = column->X;
        matrix[3 + c] = column->Y;
        matrix[6 + c] = column->Z;
    }
    return 1;
}

int32_t lcmsshim_profile_curve(lcmsshim_profile *profile, int32_t channel, float *samples, uint32_t count) {
    static const cmsTagSignature tags[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag, cmsSigGrayTRCTag};
    if (channel < 0 || channel > 3 || count < 2) return 0;
    const cmsToneCurve *curve = cmsReadTag(profile->handle, tags[channel]);
    if (!curve) return 0;
    for (uint32_t i = 0; i < count; i++) samples[i] = cmsEvalToneCurveFloat(curve, (float)i / (float)(count - 1));
    return 1;
}

struct lcmsshim_transform {
    cmsContext context;
    cmsHTRANSFORM handle;
};

/* Samples of 16 bits or floats, packed. */
static cmsUInt32Number type_of(int32_t channels, int32_t is_float) {
    const cmsUInt32Number space = channels == 1 ? PT_GRAY : channels == 3 ? PT_RGB : PT_CMYK;
    return COLORSPACE_SH(space) | CHANNELS_SH((cmsUInt32Number)channels)
        | (is_float ? FLOAT_SH(1) | BYTES_SH(4) : BYTES_SH(2));
}

lcmsshim_transform *lcmsshim_transform_create(const lcmsshim_request *request) {
    if (request->source_count > UINT32_MAX || request->target_count > UINT32_MAX) return NULL;
    lcmsshim_transform *transform = calloc(1, sizeof *transform);
    if (!transform) return NULL;
    transform->context = quiet_context();
    cmsHPROFILE source = NULL, target = NULL;
    if (transform->context) {
        source = cmsOpenProfileFromMemTHR(
            transform->context, request->source, (cmsUInt32Number)request->source_count);
        target = cmsOpenProfileFromMemTHR(
            transform->context, request->target, (cmsUInt32Number)request->target_count);
    }
    if (source && target)
        /* Without its cache of one pixel a transform is read-only. */
        transform->handle = cmsCreateTransformTHR(
            transform->context, source, type_of(request->source_channels, request->is_float), target,
            type_of(request->target_channels, request->is_float), INTENT_RELATIVE_COLORIMETRIC,
            cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE | (request->is_fine ? cmsFLAGS_HIGHRESPRECALC : 0)
                | (request->is_exact ? cmsFLAGS_NOOPTIMIZE : 0));
    if (source) cmsCloseProfile(source);
    if (target) cmsCloseProfile(target);
    if (transform->handle) return transform;
    lcmsshim_transform_free(transform);
    return NULL;
}

void lcmsshim_transform_free(lcmsshim_transform *transform) {
    if (!transform) return;
    if (transform->handle) cmsDeleteTransform(transform->handle);
    if (transform->context) cmsDeleteContext(transform->context);
    free(transform);
}

void lcmsshim_transform_run(const lcmsshim_transform *transform, const void *source, void *target, uint32_t count) {
    cmsDoTransform(transform->handle, source, target, count);
}
