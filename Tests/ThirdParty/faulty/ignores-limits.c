/* Wrong: it reports what memory it takes, and takes it although the host refuses. */
#define ON_DECODE                                                                                                      \
    (void)d->base.services->budget(d->base.services->ctx, 1 << 20);                                                    \
    (void)d->base.services->budget(d->base.services->ctx, -(1 << 20));
#include "plugin.h"
