/* Wrong: the encoder offers a format with an undefined flag. */
#define OFFER_FLAGS 0x10000u
#include "plugin.h"
