/* Wrong: it calls abort when it decodes. */
#define ON_DECODE abort();
#include "plugin.h"
