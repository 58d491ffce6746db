// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing grid barrier
// broken: blocks read what other blocks write in the first half of the kernel
// workload: mirror_small
// plan: {"format": 1, "workspaces": [{"bytes": 2162688}, {"bytes": 16, "zero": true}], "steps": [{"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "out0", "ws0", "ws1"], "cooperative": true}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out, float *turned, u32 *count) {
  for (int i = threadIdx.x; i < 4096; i += 256)
    turned[blockIdx.x * 4096 + i] = in[blockIdx.x * 4096 + 4095 - i];
#ifndef BROKEN
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (atomicAdd(count, 0u) < gridDim.x) {
    }
  }
  __syncthreads();
  __threadfence();
#endif
  const int t = (blockIdx.x + 61) % 132;
  for (int i = threadIdx.x; i < 4096; i += 256)
    out[t * 4096 + i] = in[t * 4096 + i] + turned[t * 4096 + i];
}
