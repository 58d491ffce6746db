// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing __threadfence
// broken: the flag may be seen before what it stands for
// missed: order inside the memory system, which no delay changes
// workload: mirror_small
// plan: {"format": 1, "workspaces": [{"bytes": 1081344}, {"bytes": 528, "zero": true}], "steps": [{"launch": "mirror", "grid": [264], "block": [256], "arguments": ["in0", "out0", "ws0", "ws1"], "cooperative": true}]}
// Two blocks a tile: the even one gives its half to the odd one by way of
// global memory, which adds and stores both halves.
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out, float *box, u32 *flags) {
  const int tile = blockIdx.x / 2;
  const float *x = in + tile * 4096;
  float *given = box + tile * 2048;
  if (blockIdx.x % 2 == 0) {
    for (int i = threadIdx.x; i < 2048; i += 256)
      given[i] = x[i];
#ifndef BROKEN
    __threadfence();
#endif
    __syncthreads();
    if (threadIdx.x == 0)
      atomicExch(&flags[tile], 1u);
  } else {
    if (threadIdx.x == 0)
      while (atomicAdd(&flags[tile], 0u) == 0u) {
      }
    __syncthreads();
    __threadfence();
    for (int i = threadIdx.x; i < 2048; i += 256) {
      const float sum = given[i] + x[4095 - i];
      out[tile * 4096 + i] = sum;
      out[tile * 4096 + 4095 - i] = sum;
    }
  }
}
