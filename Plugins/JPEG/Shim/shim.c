#include "JPEG.h"
