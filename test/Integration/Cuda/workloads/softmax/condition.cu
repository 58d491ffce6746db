// Condition numbers of softmax.

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

// Sums of a block: in any order, as far as condition numbers go.
__device__ Sum blockTotal(Sum own) {
  __shared__ Sum shared[256];
  shared[threadIdx.x] = own;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      Sum &a = shared[threadIdx.x], b = shared[threadIdx.x + half];
      a.v += b.v;
      a.k += b.k;
      a.magnitudes += b.magnitudes;
      a.terms += b.terms;
    }
  }
  __syncthreads();
  Sum sum = shared[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void condition(const float *x, double *k) {
  const float *row = x + blockIdx.x * 1024;
  float own = -FASTK_INFINITY;
  for (int i = threadIdx.x; i < 1024; i += 256)
    own = fmaxf(own, row[i]);
  Value largest = operand(blockMax(own));
  Sum sum = noTerms();
  for (int i = threadIdx.x; i < 1024; i += 256)
    add(&sum, expOf(minus(operand(row[i]), largest)));
  Value all = total(blockTotal(sum));
  for (int i = threadIdx.x; i < 1024; i += 256) {
    Value p = over(expOf(minus(operand(row[i]), largest)), all);
    k[blockIdx.x * 1024 + i] = p.k;
  }
}
