/* Wrong: a frame has a blend without a definition. */
#define CHANGE_FRAME frame->blend = 9;
#include "plugin.h"
