#include "WebP.h"
