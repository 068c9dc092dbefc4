/* Wrong: an open that fails because of an option leaks memory. */
#define ON_UNKNOWN_OPTION (void)services->allocate(services->ctx, 100);
#include "plugin.h"
