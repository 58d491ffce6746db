// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing __syncthreads
// broken: two buffers, and a barrier after every second tile only
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float tiles[2][4096];
  int n = 0;
  for (int t = blockIdx.x; t < 1056; t += 132, ++n) {
    float *tile = tiles[n & 1];
    for (int i = threadIdx.x; i < 4096; i += 256)
      tile[i] = in[t * 4096 + i];
#ifdef BROKEN
    if ((n & 1) == 0)
#endif
      __syncthreads();
    for (int i = threadIdx.x; i < 4096; i += 256)
      out[t * 4096 + i] = tile[i] + tile[4095 - i];
  }
}
