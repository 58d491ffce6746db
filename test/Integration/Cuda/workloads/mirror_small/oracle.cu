// out[j] = in[j] + in[4095 - j] in 132 rows of 4096, plain, in double.

extern "C" __global__ void oracle(const float *x, double *y) {
  const float *row = x + blockIdx.x * 4096;
  for (int j = threadIdx.x; j < 4096; j += 256)
    y[blockIdx.x * 4096 + j] = (double)row[j] + (double)row[4095 - j];
}
