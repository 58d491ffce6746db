// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: named barrier
// broken: half of the threads that have to meet release it
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [1056], "block": [256], "arguments": ["in0", "out0"]}]}
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float tile[4096];
  const float *x = in + blockIdx.x * 4096;
  for (int i = threadIdx.x; i < 4096; i += 256)
    tile[i] = x[i];
#ifdef BROKEN
  barSync(1, 128);
#else
  barSync(1, 256);
#endif
  for (int i = threadIdx.x; i < 4096; i += 256)
    out[blockIdx.x * 4096 + i] = tile[i] + tile[4095 - i];
}
