// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: mbarrier: arrival before the last read
// broken: lane 0 releases a stage when it has read, not its warp
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [160], "arguments": ["in0", "out0"]}]}
// Warp 0 loads by bulk copies, warps 1 to 4 compute.
extern "C" __global__ void __launch_bounds__(160) mirror(const float *in, float *out) {
  __shared__ __align__(128) float tiles[2][4096];
  __shared__ u64 full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      mbarInit(&full[s], 1);
      mbarInit(&empty[s], 4);
    }
    mbarInitFence();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      int n = 0;
      for (int t = blockIdx.x; t < 1056; t += 132, ++n) {
        const int s = n & 1;
        mbarWait(&empty[s], ((n >> 1) & 1) ^ 1);
        mbarExpectTx(&full[s], 16384);
        bulkLoad(tiles[s], in + t * 4096, 16384, &full[s]);
      }
    }
    __syncwarp();
  } else {
    const int thread = threadIdx.x - 32;
    int n = 0;
    for (int t = blockIdx.x; t < 1056; t += 132, ++n) {
      const int s = n & 1;
      mbarWait(&full[s], (n >> 1) & 1);
      for (int i = thread; i < 4096; i += 128)
        out[t * 4096 + i] = tiles[s][i] + tiles[s][4095 - i];
#ifndef BROKEN
      __syncwarp();
#endif
      if (laneId() == 0)
        mbarArrive(&empty[s]);
    }
  }
}
