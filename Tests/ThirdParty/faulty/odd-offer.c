/* Wrong: the encoder offers a format with a flag that does not exist. */
#define OFFER_FLAGS 0x10000u
#include "plugin.h"
