/* Wrong: it writes to address 16 when it decodes. */
#define ON_DECODE *(volatile int *)16 = 1;
#include "plugin.h"
