/* Wrong: its frame is twice as wide as the image of read_header. */
#define FRAME_WIDTH(width) ((width) * 2)
#include "plugin.h"
