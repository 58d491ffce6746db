// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing __syncwarp
// broken: lanes read what other lanes of their warp wrote, with nothing between
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [1056], "block": [32], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(32) mirror(const float *in, float *out) {
  __shared__ float tile[4096];
  const float *x = in + blockIdx.x * 4096;
  for (int i = threadIdx.x; i < 4096; i += 32)
    tile[i] = x[i];
#ifndef BROKEN
  __syncwarp();
#endif
  for (int i = threadIdx.x; i < 4096; i += 32)
    out[blockIdx.x * 4096 + i] = tile[i] + tile[4095 - i];
}
