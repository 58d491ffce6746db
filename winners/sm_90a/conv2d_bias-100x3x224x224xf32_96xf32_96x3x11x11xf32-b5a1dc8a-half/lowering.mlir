// RUN: fastk-opt %s
fastk.lowering @w_b5a1dc8a7038d38d attributes {
  digest = "e0c7738daeeee41745bf82a6f9131751c6f7f5b33a7527b4a75608a93922dd0c",
  file = "kernel.cu",
  format_version = 1 : i64,
  key = "b5a1dc8a7038d38da472d9c38fb0b255b1303ac8a9819858ee9f3f45e45f2a6b",
  language = #fastk.language<cuda>,
  precision = #fastk.precision<half>,
  record = {
    baseline_ns = 7.066080e+05 : f64,
    bitwise_deterministic = true,
    cpu = "",
    errors = {
      equal = 7.329160e-03 : f64,
      extremes = 3.345180e-03 : f64,
      few_nonzero = 3.415360e-03 : f64,
      integers = 0.000000e+00 : f64,
      log_uniform_half = 2.032450e-06 : f64,
      mixed = 1.569970e-06 : f64,
      mixed_half = 3.428320e-03 : f64,
      nonfinite = 3.336390e-03 : f64,
      normal = 3.426110e-03 : f64,
      one_hot = 4.916910e-03 : f64,
      pareto = 1.051750e-02 : f64,
      scaled = 3.320630e-03 : f64,
      shifted = 1.979740e-03 : f64,
      signs = 0.000000e+00 : f64,
      spike = 3.749670e-03 : f64,
      spike_last = 3.965490e-03 : f64
    },
    evaluations = 12 : i64,
    fastk_version = "0.1.0",
    floor_ns = 2.366590e+04 : f64,
    idea = {
      category = "data type and precision",
      id = "files/5-output-staged-as-bf16-channel-pairs-half-e0c773",
      text = [
        "P2 cut the tensor work by 17 % against P1 (45 instead of 54 wgmmas per 128 ",
        "pixels) and gained 0.5 %, and the tensor cores are busy only 49 %: what holds ",
        "the tile loop back (about 5700 cycles a tile against 3456 of wgmma) is more ",
        "likely the hand-over consumer -> output buffer -> store warps, whose ",
        "shared-memory traffic competes with the wgmma B reads and which has only two 52 ",
        "KB buffers. Keep the sums in f32, add the bias in f32, and only then round the ",
        "finished result for its trip through shared memory: one thread holds channels ",
        "ch0 and ch0+8 of the same pixel (d[4j+e] and d[4j+2+e]), so pack these two as ",
        "cvt.rn.bf16x2.f32 into one u32 (low half ch0, high half ch0+8). bf16 has the ",
        "range of f32, so no overflow case is added; its rounding is at most 2^-9 = 0.2 ",
        "% of |r|, so the worst error goes from about 25 % to at most 45 % of the 1e-2 ",
        "allowed. Layout: 48 rows (warp*8 + (lane>>2)) of 136 words, 26112 B a buffer, ",
        "written as 16 uint2 stores a thread (columns 8j+2tq, +1) instead of 32 float2: ",
        "the same conflict-free pattern, half of the wavefronts. A store warp takes 12 ",
        "of the 48 rows: lane = pixel, one 4-byte LDS gives two channels, which are ",
        "unpacked by v<<16 and v&0xffff0000 and stored to channel 16*(row>>3)+(row&7) ",
        "and that channel + 8, i.e. 48 LDS instead of 96 a tile, the global stores ",
        "unchanged (consecutive lanes, consecutive pixels, so the odd plane size 3025 ",
        "does no harm). Use the freed 52 KB as four output buffers (index i&3, parity ",
        "(i>>2)&1) so that bursts of slow stores no longer stop the consumers; or three ",
        "buffers with RING 11 and STAGES 6 (tune). Read a whole batch of 6 rows x 4 ",
        "pixel groups (24 LDS) of the next batch before the stores of the present one, ",
        "and release the buffer right after the last LDS, so the store warps never wait ",
        "for an LDS with an empty store queue. The f32 slow path and its flags stay; ",
        "flags get four slots.\0A",
        "Expected gain: 1.1x, because staging wavefronts fall from about 768 to 384 a ",
        "tile and four buffers decouple stores from wgmma; more if the store hand-over ",
        "is the real limiter"
      ],
      title = "Output staged as bf16 channel pairs: half the staging traffic, four buffers"
    },
    machine = "NVIDIA H200",
    mlir_version = "22.1.8",
    name = "conv2d_bias",
    parameters = {},
    seed = 0 : i64,
    shapes = "100x3x224x224xf32_96xf32_96x3x11x11xf32",
    speedup = {
      high = 9.817980e+00 : f64,
      low = 9.773070e+00 : f64,
      median = 9.7994199999999995 : f64
    },
    threads = 0 : i64,
    time = {
      median_ns = 7.219200e+04 : f64,
      p10_ns = 7.048000e+04 : f64,
      p90_ns = 7.424000e+04 : f64,
      samples = 256 : i64
    },
    worst_share = 4.366500e-01 : f64
  },
  seal = "72a78afddbaa3b3cc4054832271cb00f6282ad1243a065034569bb59addfa6f6",
  target = "cuda:sm_90a",
  workspace = 0 : i64
} pattern {
^bb0(%arg0: tensor<100x3x224x224xf32>, %arg1: tensor<96xf32>, %arg2: tensor<96x3x11x11xf32>):
  %cst = arith.constant 0.000000e+00 : f32
  %padded = tensor.pad %arg0 low[0, 0, 2, 2] high[0, 0, 2, 2] {
  ^bb0(%arg3: index, %arg4: index, %arg5: index, %arg6: index):
    tensor.yield %cst : f32
  } : tensor<100x3x224x224xf32> to tensor<100x3x228x228xf32>
  %0 = tensor.empty() : tensor<100x96x55x55xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<96xf32>) outs(%0 : tensor<100x96x55x55xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<100x96x55x55xf32>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 4 + d5, d3 * 4 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%padded, %arg2 : tensor<100x3x228x228xf32>, tensor<96x3x11x11xf32>) outs(%1 : tensor<100x96x55x55xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %3 = arith.mulf %in, %in_0 : f32
    %4 = arith.addf %3, %out : f32
    linalg.yield %4 : f32
  } -> tensor<100x96x55x55xf32>
  fastk.yield %2 : tensor<100x96x55x55xf32>
} plan {
^bb0(%arg0: memref<100x3x224x224xf32>, %arg1: memref<96xf32>, %arg2: memref<96x3x11x11xf32>, %arg3: memref<100x96x55x55xf32>):
  %0 = fastk.tensor_map %arg0 {box = array<i64: 224, 4, 3>, dims = array<i64: 224, 224, 300>, element_type = "f32", l2_promotion = "256B", strides = array<i64: 896, 200704>} : memref<100x3x224x224xf32>
  fastk.launch "conv_rs" grid [132, 1, 1] block [512, 1, 1] shared 232448(%0, %arg0, %arg1, %arg2, %arg3) : !fastk.tensor_map, memref<100x3x224x224xf32>, memref<96xf32>, memref<96x3x11x11xf32>, memref<100x96x55x55xf32>
}
