#include "GIF.h"
