// Softmax of rows of 1024, plain, in double.

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

extern "C" __global__ void oracle(const float *x, double *y) {
  const float *row = x + blockIdx.x * 1024;
  float largest = __int_as_float(0xff800000);
  for (int i = threadIdx.x; i < 1024; i += 256)
    largest = fmaxf(largest, row[i]);
  largest = blockMax(largest);
  double sum = 0;
  for (int i = threadIdx.x; i < 1024; i += 256)
    sum += exp((double)row[i] - (double)largest);
  sum = blockSum(sum);
  for (int i = threadIdx.x; i < 1024; i += 256)
    y[blockIdx.x * 1024 + i] = exp((double)row[i] - (double)largest) / sum;
}
