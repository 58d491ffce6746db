// LayerNorm of rows of 1024, with weight and bias, plain, in double.

__device__ double blockSum(double value) {
  __shared__ double shared[256];
  shared[threadIdx.x] = value;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  double sum = shared[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void oracle(const float *x, const float *w, const float *b,
                                 double *y) {
  const float *row = x + blockIdx.x * 1024;
  double sum = 0, squares = 0;
  for (int i = threadIdx.x; i < 1024; i += 256)
    sum += row[i];
  double mean = blockSum(sum) / 1024;
  for (int i = threadIdx.x; i < 1024; i += 256)
    squares += (row[i] - mean) * (row[i] - mean);
  double variance = blockSum(squares) / 1024;
  double scale = 1.0 / sqrt(variance + 1e-5);
  for (int i = threadIdx.x; i < 1024; i += 256)
    y[blockIdx.x * 1024 + i] = (row[i] - mean) * scale * w[i] + b[i];
}
