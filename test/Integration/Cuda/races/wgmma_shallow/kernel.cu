// out = A B^T, 64 columns, sums of 256 products of f16.
// class: wgmma wait_group too shallow
// broken: shared memory is filled again while the product before may still read it
// missed: on an H200 the product has read the memory before it is filled again; no delay holds it back
// workload: products
// plan: {"format": 1, "steps": [{"launch": "product", "grid": [132], "block": [128], "arguments": ["in0", "in1", "out0"]}]}
// 64 rows a block, four slices of 64 of the sum: A and B (rows of it are columns
// of the result) go to shared memory in 128-byte rows, swizzled.
extern "C" __global__ void __launch_bounds__(128) product(const uint4 *a, const uint4 *b, float *out) {
  __shared__ __align__(1024) unsigned char sa[8192], sb[8192];
  const u32 thread = threadIdx.x;
  float d[32];
#pragma unroll
  for (int i = 0; i < 32; ++i)
    d[i] = 0.0f;
  uint4 va[4], vb[4];
  auto load = [&](int slice) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const u32 i = thread + 128 * k, row = i / 8, chunk = i % 8;
      va[k] = a[(blockIdx.x * 64 + row) * 32 + slice * 8 + chunk];
      vb[k] = b[row * 32 + slice * 8 + chunk];
    }
  };
  load(0);
#pragma unroll 1
  for (int slice = 0; slice < 4; ++slice) {
#ifdef BROKEN
    wgmmaWait<1>();
#else
    wgmmaWait<0>();
#endif
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const u32 i = thread + 128 * k, row = i / 8, chunk = i % 8;
      *(uint4 *)(sa + row * 128 + (chunk ^ (row & 7)) * 16) = va[k];
      *(uint4 *)(sb + row * 128 + (chunk ^ (row & 7)) * 16) = vb[k];
    }
    fenceAsyncShared();
    __syncthreads();
    if (slice < 3)
      load(slice + 1);
    const u64 da = wgmmaDesc128B(smemAddr(sa)), db = wgmmaDesc128B(smemAddr(sb));
    wgmmaFence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      wgmmaF16(d, da + 2 * k, db + 2 * k);
    wgmmaCommit();
  }
  wgmmaWait<0>();
  wgmmaHold(d);
  const u32 row = blockIdx.x * 64 + 16 * (thread / 32) + (thread % 32) / 4;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const u32 column = 8 * j + 2 * (thread % 4);
    *(float2 *)(out + row * 64 + column) = make_float2(d[4 * j], d[4 * j + 1]);
    *(float2 *)(out + (row + 8) * 64 + column) = make_float2(d[4 * j + 2], d[4 * j + 3]);
  }
}
