/* Wrong: it ends the process when it decodes, as if all were well. */
#define ON_DECODE exit(0);
#include "plugin.h"
