/* Wrong: the reserved word of a frame is not zero. */
#define CHANGE_FRAME frame->reserved = 0xdeadbeef;
#include "plugin.h"
