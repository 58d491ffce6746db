// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing __syncthreads
// broken: the only buffer is filled again before all have read it
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float tile[4096];
  float next[16];
  for (int k = 0; k < 16; ++k)
    next[k] = in[blockIdx.x * 4096 + threadIdx.x + 256 * k];
  for (int t = blockIdx.x; t < 1056; t += 132) {
#pragma unroll
    for (int k = 0; k < 16; ++k)
      tile[threadIdx.x + 256 * k] = next[k];
    __syncthreads();
    if (t + 132 < 1056)
#pragma unroll
      for (int k = 0; k < 16; ++k)
        next[k] = in[(t + 132) * 4096 + threadIdx.x + 256 * k];
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      int i = threadIdx.x + 256 * k;
      out[t * 4096 + i] = tile[i] + tile[4095 - i];
    }
#ifndef BROKEN
    __syncthreads();
#endif
  }
}
