/* Wrong: it leaves the processor rounding downwards. */
#include <fenv.h>
#define ON_DECODE fesetround(FE_DOWNWARD);
#include "plugin.h"
