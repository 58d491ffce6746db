// Condition numbers of exponential.

extern "C" __global__ void condition(const float *x, double *k) {
  int i = blockIdx.x * 256 + threadIdx.x;
  k[i] = expOf(operand(x[i])).k;
}
