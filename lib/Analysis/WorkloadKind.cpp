#include "fastk/Analysis/WorkloadKind.h"
