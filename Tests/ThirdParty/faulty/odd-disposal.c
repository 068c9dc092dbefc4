/* Wrong: a frame has an undefined disposal. */
#define CHANGE_FRAME frame->disposal = 9;
#include "plugin.h"
