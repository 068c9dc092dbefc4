/* Wrong: an open that fails for an option keeps what it took. */
#define ON_UNKNOWN_OPTION (void)services->allocate(services->ctx, 100);
#include "plugin.h"
