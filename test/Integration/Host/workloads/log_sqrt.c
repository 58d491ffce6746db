// Oracle (T is double) and baseline (float) of log_sqrt.
#include "workloads.h"

void fastk_kernel(const float *x, T *y) { logSqrt(x, y); }
