// Condition numbers of rowsum.

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
  Sum sum = noTerms();
  for (int i = threadIdx.x; i < 2048; i += 256)
    add(&sum, operand(x[blockIdx.x * 2048 + i]));
  sum = blockTotal(sum);
  if (threadIdx.x == 0)
    k[blockIdx.x] = total(sum).k;
}
