// REQUIRES: libdevice
// RUN: rm -rf %t && split-file %s %t
// RUN: python3 %S/Inputs/schedule_cases.py %t rows row_threads=512,row_block=512 row_keep=0,row_unroll=8 row_blocks=4,row_keep=0,row_threads=128,row_unroll=2 row_resident=4 row_width=2 approximate=1 | FileCheck %s --check-prefix=ROWS
// RUN: python3 %S/Inputs/schedule_cases.py %t chain vector_threads=128,vector_count=8,vector_width=2 | FileCheck %s --check-prefix=CHAIN
// RUN: python3 %S/Inputs/schedule_cases.py %t product scalar_warp_rows=2,scalar_warp_columns=2,scalar_rows=8,scalar_columns=4,scalar_depth=8,contraction_parts=1 contraction_parts=4 contraction_band=1 | FileCheck %s --check-prefix=PRODUCT
// RUN: python3 %S/Inputs/schedule_cases.py %t half tensor_warp_rows=2,tensor_warp_columns=2,tensor_rows=64,tensor_columns=64,tensor_stages=4,contraction_parts=1 | FileCheck %s --check-prefix=HALF

// A schedule sets numbers of the compiler's own kernels by annotating the
// function; what it leaves out stays as the model decides.

// ROWS-LABEL: CASE row_threads=512,row_block=512
// ROWS: {"launch":"k0","grid":[4096,1,1],"block":[512,1,1],"arguments":["in0","out0"]}
// ROWS: gpu.func @k0
// ROWS-SAME: known_block_size = array<i32: 512, 1, 1>
// ROWS: .visible .entry k0(
// ROWS-COUNT-2: ld.global.v4.b32
// ROWS-NOT: ld.global
// ROWS-LABEL: CASE row_keep=0,row_unroll=8
// ROWS: {"launch":"k0","grid":[4096,1,1],"block":[1024,1,1]
// Each pass reads its row: maximum, sum, quotient.
// ROWS-COUNT-3: ld.global.v4.b32
// ROWS-LABEL: CASE row_blocks=4,row_keep=0
// ROWS: "workspaces": [
// ROWS: {"launch":"k0","grid":[16384,1,1],"block":[128,1,1]
// ROWS: {"launch":"k1",
// ROWS: {"launch":"k2",
// ROWS-LABEL: CASE row_resident=4
// ROWS: .minnctapersm 4
// ROWS-LABEL: CASE row_width=2
// ROWS: ld.global.v2.b32
// ROWS-NOT: ld.global.v4
// ROWS-LABEL: CASE approximate=1
// ROWS: math.exp {{.*}} fastmath<{{.*}}afn
// ROWS: arith.divf {{.*}} fastmath<{{.*}}afn
// ROWS-NOT: div.rn
// ROWS: ex2.approx

// CHAIN-LABEL: CASE vector_threads=128
// CHAIN: "block":[128,1,1]
// CHAIN: vector.load {{.*}}vector<2xf32>
// CHAIN-NOT: vector<4xf32>

// 2 x 2 warps of 8 x 4 threads of 8 x 4 results: tiles of 128 x 32.
// PRODUCT-LABEL: CASE scalar_warp_rows=2
// PRODUCT: {"launch":"k0","grid":[256,1,1],"block":[128,1,1]
// PRODUCT-LABEL: CASE contraction_parts=4
// PRODUCT: {"bytes":16777216}
// PRODUCT: {"launch":"k0"
// PRODUCT: {"launch":"k1"
// PRODUCT-LABEL: CASE contraction_band=1
// PRODUCT: {"launch":"k0"

// 128 x 128 tiles, four slices of 32 KB.
// HALF-LABEL: CASE tensor_warp_rows=2
// HALF: {"launch":"k0","grid":[64,1,1],"block":[128,1,1],"shared_bytes":131072
// HALF: cp.async.wait_group 2

//--- rows.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>) {
  %v1 = tensor.empty() : tensor<4096x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<4096x4096xf32>) outs(%v3 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v5 = tensor.empty() : tensor<4096x4096xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<4096x4096xf32>, tensor<4096x1xf32>) outs(%v5 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  %v7 = tensor.empty() : tensor<4096x4096xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<4096x4096xf32>) outs(%v7 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  %v9 = tensor.empty() : tensor<4096x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<4096x4096xf32>) outs(%v11 : tensor<4096x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<4096x1xf32>
  %v13 = tensor.empty() : tensor<4096x4096xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<4096x4096xf32>, tensor<4096x1xf32>) outs(%v13 : tensor<4096x4096xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<4096x4096xf32>
  return %v14 : tensor<4096x4096xf32>
}

//--- chain.mlir
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @forward(%x: tensor<128x1024xf32>, %y: tensor<1024xf32>) -> tensor<128x1024xf32> {
  %e = tensor.empty() : tensor<128x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<128x1024xf32>, tensor<1024xf32>) outs(%e : tensor<128x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<128x1024xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %x : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e : tensor<128x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.tanh %a : f32
    %1 = arith.mulf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<128x1024xf32>
  return %t : tensor<128x1024xf32>
}

//--- product.mlir
func.func @forward(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}

//--- half.mlir
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @forward(%x: tensor<1024x1024xf16>, %y: tensor<1024x1024xf16>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : tensor<1024x1024xf16>, tensor<1024x1024xf16>) outs(%f : tensor<1024x1024xf32>) {
  ^bb0(%u: f16, %v: f16, %o: f32):
    %0 = arith.extf %u : f16 to f32
    %1 = arith.extf %v : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %o : f32
    linalg.yield %3 : f32
  } -> tensor<1024x1024xf32>
  return %p : tensor<1024x1024xf32>
}
