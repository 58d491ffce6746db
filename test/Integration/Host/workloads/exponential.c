// Oracle (T is double) and baseline (float) of exponential.
#include "workloads.h"

void fastk_kernel(const float *x, T *y) { exponential(x, y); }
