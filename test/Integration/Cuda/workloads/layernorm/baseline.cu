// LayerNorm of rows of 1024, with weight and bias, plain, in float.

__device__ float blockSum(float value) {
  __shared__ float shared[256];
  shared[threadIdx.x] = value;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  float sum = shared[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void baseline(const float *x, const float *w, const float *b,
                                 float *y) {
  const float *row = x + blockIdx.x * 1024;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < 1024; i += 256)
    sum += row[i];
  float mean = blockSum(sum) / 1024;
  for (int i = threadIdx.x; i < 1024; i += 256)
    squares += (row[i] - mean) * (row[i] - mean);
  float variance = blockSum(squares) / 1024;
  float scale = 1.0f / sqrtf(variance + 1e-5f);
  for (int i = threadIdx.x; i < 1024; i += 256)
    y[blockIdx.x * 1024 + i] = (row[i] - mean) * scale * w[i] + b[i];
}
