// Softmax of rows of 32768 elements of f16, plain, in float.
#include <cuda_fp16.h>

__device__ float blockMax(float value) {
  __shared__ float shared[256];
  shared[threadIdx.x] = value;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  __syncthreads();
  float largest = shared[0];
  __syncthreads();
  return largest;
}

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

extern "C" __global__ void baseline(const __half *x, __half *y) {
  const __half *row = x + blockIdx.x * 32768;
  float largest = -FASTK_INFINITY;
  for (int i = threadIdx.x; i < 32768; i += 256)
    largest = fmaxf(largest, __half2float(row[i]));
  largest = blockMax(largest);
  float sum = 0;
  for (int i = threadIdx.x; i < 32768; i += 256)
    sum += expf((float)__half2float(row[i]) - largest);
  sum = blockSum(sum);
  for (int i = threadIdx.x; i < 32768; i += 256) {
    float p = expf((float)__half2float(row[i]) - largest) / sum;
    y[blockIdx.x * 32768 + i] = __float2half_rn(p);
  }
}
