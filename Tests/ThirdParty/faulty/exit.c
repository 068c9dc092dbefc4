/* Wrong: it exits with status 0 when it decodes. */
#define ON_DECODE exit(0);
#include "plugin.h"
