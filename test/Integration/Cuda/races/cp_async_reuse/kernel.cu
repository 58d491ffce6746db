// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing __syncthreads
// broken: a stage of cp.async is filled again while others still read it
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ __align__(16) float tiles[2][4096];
  auto load = [&](int t, int stage) {
    if (t < 1056)
      for (int i = threadIdx.x; i < 1024; i += 256)
        cpAsync16(&tiles[stage][4 * i], in + t * 4096 + 4 * i);
    cpAsyncCommit();
  };
  int n = 0;
  load(blockIdx.x, 0);
  load(blockIdx.x + 132, 1);
  for (int t = blockIdx.x; t < 1056; t += 132, ++n) {
    cpAsyncWait<1>();
    __syncthreads();
    const float *tile = tiles[n & 1];
    for (int i = threadIdx.x; i < 4096; i += 256)
      out[t * 4096 + i] = tile[i] + tile[4095 - i];
#ifndef BROKEN
    __syncthreads();
#endif
    load(t + 264, n & 1);
  }
}
