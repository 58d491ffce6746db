// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: bulk store not awaited
// broken: the staging memory is written again before the store has read it
// missed: on an H200 the copy engine has read the memory before it is written again; no delay holds it back
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ __align__(128) float staging[1][4096];
  int n = 0;
  for (int t = blockIdx.x; t < 1056; t += 132, ++n) {
    float *mine = staging[n % 1];
    float sum[16];
    const float *x = in + t * 4096;
#pragma unroll
    for (int k = 0; k < 16; ++k)
      sum[k] = x[threadIdx.x + 256 * k] + x[4095 - threadIdx.x - 256 * k];
#ifndef BROKEN
    if (threadIdx.x == 0)
      bulkWaitRead<0>();
#endif
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k)
      mine[threadIdx.x + 256 * k] = sum[k];
    fenceAsyncShared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulkStore(out + t * 4096, mine, 16384);
      bulkCommit();
    }
  }
  if (threadIdx.x == 0)
    bulkWait<0>();
}
