// Oracle (T is double) and baseline (float) of transpose.
#include "workloads.h"

void fastk_kernel(const float *x, T *y) { transpose(x, y); }
