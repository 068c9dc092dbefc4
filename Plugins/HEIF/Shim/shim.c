#include "HEIF.h"
