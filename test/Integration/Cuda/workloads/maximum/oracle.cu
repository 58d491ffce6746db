// The larger of each of 262144 elements and zero, NaN where one is, plain, in double.

extern "C" __global__ void oracle(const float *x, double *y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[i] < 0 ? 0 : x[i];
}
