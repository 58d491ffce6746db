// ReLU of a million elements, plain, in float.

extern "C" __global__ void baseline(const float *x, float *y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = x[i] > 0 ? x[i] : 0;
}
