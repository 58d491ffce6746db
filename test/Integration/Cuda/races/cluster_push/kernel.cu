// Tiles of 4096 floats: out[j] = in[j] + in[4095 - j].
// class: missing cluster barrier
// broken: writes into the other block before that has read what was there
// workload: mirror
// plan: {"format": 1, "steps": [{"launch": "mirror", "grid": [264], "block": [256], "arguments": ["in0", "out0"], "cluster": [2]}]}
// Two blocks a tile, half of it each; each writes its half into the other.
extern "C" __global__ void __launch_bounds__(256) mirror(const float *in, float *out) {
  __shared__ float theirs[2048];
  const u32 other = mapaShared(smemAddr(theirs), ctaRank() ^ 1);
  clusterSync();
  for (int t = blockIdx.x; t < 2112; t += 264) {
    const float *x = in + t * 2048;
    for (int i = threadIdx.x; i < 2048; i += 256)
      storeCluster(other + 4 * i, x[i]);
    clusterSync();
    for (int i = threadIdx.x; i < 2048; i += 256)
      out[t * 2048 + i] = x[i] + theirs[2047 - i];
#ifdef BROKEN
    __syncthreads();
#else
    clusterSync();
#endif
  }
}
