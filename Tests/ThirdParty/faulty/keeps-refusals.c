/* Wrong: after one refused request, a session refuses all others. */
#define KEEPS_REFUSAL 1
#include "plugin.h"
