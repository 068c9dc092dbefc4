/* Wrong: it reports its memory, and allocates it although the host refuses. */
#define ON_DECODE                                                                                                      \
    (void)d->base.services->budget(d->base.services->ctx, 1 << 20);                                                    \
    (void)d->base.services->budget(d->base.services->ctx, -(1 << 20));
#include "plugin.h"
