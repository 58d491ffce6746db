// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing cluster barrier
// broken: the other block may not have written yet what is read of it
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [2112], "block": [256], "arguments": ["in0", "out0"], "cluster": [2]}]}
// Two blocks a tile, half of it each.
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float half[2048];
  const float *x = in + blockIdx.x * 2048;
  for (int i = threadIdx.x; i < 2048; i += 256)
    half[i] = x[i];
#ifdef BROKEN
  __syncthreads();
#else
  clusterSync();
#endif
  const u32 other = mapaShared(smemAddr(half), ctaRank() ^ 1);
  for (int i = threadIdx.x; i < 2048; i += 256)
    out[blockIdx.x * 2048 + i] = half[i] + loadCluster(other + 4 * (2047 - i));
  clusterSync();
}
