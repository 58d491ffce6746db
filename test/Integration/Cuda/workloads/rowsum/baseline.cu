// Sums of rows of 2048, plain, in float.

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

extern "C" __global__ void baseline(const float *x, float *y) {
  const float *row = x + blockIdx.x * 2048;
  float sum = 0;
  for (int i = threadIdx.x; i < 2048; i += 256)
    sum += row[i];
  sum = blockSum(sum);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}
