/* Wrong: each decode gives different pixels. */
static unsigned seed;
#define ON_DECODE seed++;
#define SAMPLE(value) ((value) + seed)
#include "plugin.h"
