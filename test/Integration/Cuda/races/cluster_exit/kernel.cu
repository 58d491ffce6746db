// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: shared memory of a block that has ended
// broken: a block ends while the other may still read its shared memory
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [2112], "block": [256], "arguments": ["in0", "out0"], "cluster": [2]}]}
// Two blocks a tile, half of it each.
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float half[2048];
  const float *x = in + blockIdx.x * 2048;
  for (int i = threadIdx.x; i < 2048; i += 256)
    half[i] = x[i];
  clusterSync();
  const u32 other = mapaShared(smemAddr(half), ctaRank() ^ 1);
  for (int i = threadIdx.x; i < 2048; i += 256)
    out[blockIdx.x * 2048 + i] = half[i] + loadCluster(other + 4 * (2047 - i));
#ifndef BROKEN
  clusterSync();
#endif
}
