/* Wrong: a frame has an undefined blend. */
#define CHANGE_FRAME frame->blend = 9;
#include "plugin.h"
