// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: mbarrier: expect_tx too small
// broken: the second of two copies is not expected
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [1056], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ __align__(128) float tile[4096];
  __shared__ u64 full;
  if (threadIdx.x == 0) {
    mbarInit(&full, 1);
    mbarInitFence();
  }
  __syncthreads();
  const float *x = in + blockIdx.x * 4096;
  if (threadIdx.x == 0) {
#ifdef BROKEN
    mbarExpectTx(&full, 8192);
#else
    mbarExpectTx(&full, 16384);
#endif
    bulkLoad(tile, x, 8192, &full);
    bulkLoad(tile + 2048, x + 2048, 8192, &full);
  }
  __syncwarp();
  mbarWait(&full, 0);
  for (int i = threadIdx.x; i < 4096; i += 256)
    out[blockIdx.x * 4096 + i] = tile[i] + tile[4095 - i];
}
