/* Wrong: it never comes back from decode, and never asks whether it should. */
#define ON_DECODE for (volatile int i = 0; i >= 0; i = 1) {}
#include "plugin.h"
