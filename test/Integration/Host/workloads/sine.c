// Oracle (T is double) and baseline (float) of sine.
#include "workloads.h"

void fastk_kernel(const float *x, T *y) { sine(x, y); }
