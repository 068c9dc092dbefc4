/* Wrong: after a request that it refused, a session refuses every other. */
#define KEEPS_REFUSAL 1
#include "plugin.h"
