// RUN: rm -rf %t && mkdir -p %t/empty
// RUN: fastk-opt %s --fastk-form-workloads --fastk-lower-workloads -o %t/low
// RUN: not env FASTK_CUDA_PATH=%t/empty fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out 2>&1 | FileCheck %s
// RUN: mkdir -p %t/broken/nvvm/libdevice && echo none > %t/broken/nvvm/libdevice/libdevice.10.bc
// RUN: not env FASTK_CUDA_PATH=%t/broken fastk-opt %t/low --compile-kernel=program --target=cuda:sm_90a -o %t/out 2>&1 | FileCheck %s --check-prefix=BROKEN

// Math functions come from libdevice; where it is not found, how to get it.

// CHECK: error: needs __nv_tanhf of libdevice.10.bc, which was not found: run scripts/install-deps.sh --cuda, or set FASTK_CUDA_PATH {{.*}} (required by 'fastk.libdevice')
// BROKEN: error: {{.*}}broken/nvvm/libdevice/libdevice.10.bc does not read as LLVM bitcode

func.func @forward(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %empty = tensor.empty() : tensor<64x32xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x32xf32>) outs(%empty : tensor<64x32xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.tanh %in : f32
    linalg.yield %t : f32
  } -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
