/* Wrong: its frame is twice as wide as the picture that read_header told of. */
#define FRAME_WIDTH(width) ((width) * 2)
#include "plugin.h"
