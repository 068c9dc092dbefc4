/* Wrong: each time it decodes other pixels. */
static unsigned seed;
#define ON_DECODE seed++;
#define SAMPLE(value) ((value) + seed)
#include "plugin.h"
