/* Wrong: decode never returns and never polls. */
#define ON_DECODE for (volatile int i = 0; i >= 0; i = 1) {}
#include "plugin.h"
