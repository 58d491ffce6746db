// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing fence.proxy.async
// broken: a bulk store of what ordinary stores wrote, with a barrier alone between
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [1056], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ __align__(128) float staging[4096];
  const float *x = in + blockIdx.x * 4096;
  for (int i = threadIdx.x; i < 4096; i += 256)
    staging[i] = x[i] + x[4095 - i];
#ifndef BROKEN
  fenceAsyncShared();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    bulkStore(out + blockIdx.x * 4096, staging, 16384);
    bulkCommit();
    bulkWait<0>();
  }
}
