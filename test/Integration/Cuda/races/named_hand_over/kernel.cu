// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: named barrier
// broken: the loading warps do not wait until the buffer has been read
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0"]}]}
// Warps 0 to 3 load, warps 4 to 7 compute; barrier 1: full, barrier 2: empty.
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float tile[4096];
  const int thread = threadIdx.x & 127;
  if (threadIdx.x < 128) {
    for (int t = blockIdx.x; t < 1056; t += 132) {
#ifndef BROKEN
      if (t != blockIdx.x)
        barSync(2, 256);
#endif
      for (int i = thread; i < 4096; i += 128)
        tile[i] = in[t * 4096 + i];
      barArrive(1, 256);
    }
  } else {
    for (int t = blockIdx.x; t < 1056; t += 132) {
      barSync(1, 256);
      for (int i = thread; i < 4096; i += 128)
        out[t * 4096 + i] = tile[i] + tile[4095 - i];
#ifndef BROKEN
      if (t + 132 < 1056)
        barArrive(2, 256);
#endif
    }
  }
}
