// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: programmatic launch without a wait
// broken: the second kernel reads what the first may not have written yet
// workload: mirror_small
// plan: {"format": 1, "workspaces": [{"bytes": 2162688}], "steps": [{"launch": "turn", "grid": [132], "block": [256], "arguments": ["in0", "ws0"]}, {"launch": "mirror", "grid": [132], "block": [256], "arguments": ["in0", "ws0", "out0"], "overlaps_previous": true}]}
extern "C" __global__ void __launch_bounds__(256) turn(const float *in, float *turned) {
  launchNext();
  for (int i = threadIdx.x; i < 4096; i += 256)
    turned[blockIdx.x * 4096 + i] = in[blockIdx.x * 4096 + 4095 - i];
}

extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, const float *turned, float *out) {
#ifndef BROKEN
  waitPrevious();
#endif
  for (int i = threadIdx.x; i < 4096; i += 256)
    out[blockIdx.x * 4096 + i] = in[blockIdx.x * 4096 + i] + turned[blockIdx.x * 4096 + i];
}
