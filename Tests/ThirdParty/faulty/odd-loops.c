/* Wrong: the image has a loop_kind without a definition. */
#define CHANGE_INFO info->loop_kind = 9;
#include "plugin.h"
