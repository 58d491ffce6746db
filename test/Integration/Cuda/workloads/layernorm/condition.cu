// Condition numbers of layernorm.

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

extern "C" __global__ void condition(const float *x, const float *w, const float *b,
                                     double *k) {
  const float *row = x + blockIdx.x * 1024;
  Sum sum = noTerms(), squares = noTerms();
  for (int i = threadIdx.x; i < 1024; i += 256)
    add(&sum, operand(row[i]));
  Value mean = scaled(total(blockTotal(sum)), 1.0 / 1024);
  for (int i = threadIdx.x; i < 1024; i += 256) {
    Value d = minus(operand(row[i]), mean);
    add(&squares, times(d, d));
  }
  Value variance = scaled(total(blockTotal(squares)), 1.0 / 1024);
  Value factor = rsqrtOf(plus(variance, constant(1e-5)));
  for (int i = threadIdx.x; i < 1024; i += 256) {
    Value normal = times(minus(operand(row[i]), mean), factor);
    k[blockIdx.x * 1024 + i] = plus(times(normal, operand(w[i])), operand(b[i])).k;
  }
}
