// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/square.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/square.low
// RUN: fastk-opt %t/square.low --compile-kernel=program --target=cuda:sm_90a -o %t/square
// RUN: cat %t/square/plan.json %t/square/kernel.ptx | FileCheck %s --check-prefix=SQUARE
// RUN: fastk-opt %t/transposed.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/transposed.low
// RUN: fastk-opt %t/transposed.low --compile-kernel=program --target=cuda:sm_90a -o %t/transposed
// RUN: cat %t/transposed/plan.json %t/transposed/kernel.ptx | FileCheck %s --check-prefix=TRANS
// RUN: fastk-opt %t/odd.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/odd.low
// RUN: fastk-opt %t/odd.low --compile-kernel=program --target=cuda:sm_90a -o %t/odd
// RUN: cat %t/odd/plan.json %t/odd/kernel.ptx | FileCheck %s --check-prefix=ODD
// RUN: fastk-opt %t/brain.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/brain.low
// RUN: fastk-opt %t/brain.low --compile-kernel=program --target=cuda:sm_90a -o %t/brain
// RUN: cat %t/brain/plan.json %t/brain/kernel.ptx | FileCheck %s --check-prefix=BRAIN
// RUN: fastk-opt %t/square.low --compile-kernel=program --target=cuda:sm_86 -o %t/small
// RUN: cat %t/small/plan.json | FileCheck %s --check-prefix=SMALL

// Products of f16 or bf16 with f32 sums: tensor cores, slices by cp.async.

// One kernel: the fill and the narrowing are in it.
// SQUARE: "steps": [
// SQUARE-NEXT: {"launch":"k0","grid":[{{[0-9]+}},1,1],"block":[{{128|256}},1,1],"shared_bytes":{{[0-9]+}},"arguments":["in0","in1","out0"]}]}
// SQUARE: .extern .shared .align 16 .b8 fastk_shared[];
// SQUARE-DAG: cp.async.cg.shared.global
// SQUARE-DAG: cp.async.commit_group
// SQUARE-DAG: cp.async.wait_group 1
// SQUARE-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// SQUARE-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// SQUARE-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// SQUARE-DAG: cvt.rn.f16{{(x2)?}}.f32

// A device with less shared memory gets smaller tiles: 96 KB.
// SMALL: "block":[128,1,1],"shared_bytes":98304

// The depth is not along memory in the first operand, and along it in the
// second; beyond the last of 72 terms come zeros.
// TRANS-DAG: cp.async.cg.shared.global [{{.*}}], [{{.*}}], 16, %r
// TRANS-DAG: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// TRANS-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// TRANS-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// Rows that begin anywhere: elements one by one, masked.
// ODD-NOT: cp.async.cg
// ODD-DAG: ld.global.b16
// ODD-DAG: selp.b16
// ODD-DAG: st.shared.v4.b32
// ODD-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// BRAIN: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32

//--- square.mlir
func.func @forward(%a0: tensor<2048x1024xf16>, %a1: tensor<1024x2048xf16>) -> tensor<2048x2048xf16> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2048x2048xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<2048x1024xf16>, tensor<1024x2048xf16>) outs(%f : tensor<2048x2048xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %e0 = arith.extf %i0 : f16 to f32
    %e1 = arith.extf %i1 : f16 to f32
    %p = arith.mulf %e0, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2048x2048xf32>
  %e2 = tensor.empty() : tensor<2048x2048xf16>
  %r2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%r : tensor<2048x2048xf32>) outs(%e2 : tensor<2048x2048xf16>) {
  ^bb0(%i: f32, %o: f16):
    %t = arith.truncf %i : f32 to f16
    linalg.yield %t : f16
  } -> tensor<2048x2048xf16>
  return %r2 : tensor<2048x2048xf16>
}
//--- transposed.mlir
func.func @forward(%a0: tensor<72x136xf16>, %a1: tensor<264x72xf16>) -> tensor<136x264xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<136x264xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<136x264xf32>) -> tensor<136x264xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<72x136xf16>, tensor<264x72xf16>) outs(%f : tensor<136x264xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %e0 = arith.extf %i0 : f16 to f32
    %e1 = arith.extf %i1 : f16 to f32
    %p = arith.mulf %e0, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<136x264xf32>
  return %r : tensor<136x264xf32>
}
//--- odd.mlir
func.func @forward(%a0: tensor<129x53xf16>, %a1: tensor<53x77xf16>) -> tensor<129x77xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<129x77xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<129x77xf32>) -> tensor<129x77xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<129x53xf16>, tensor<53x77xf16>) outs(%f : tensor<129x77xf32>) {
  ^bb0(%i0: f16, %i1: f16, %o: f32):
    %e0 = arith.extf %i0 : f16 to f32
    %e1 = arith.extf %i1 : f16 to f32
    %p = arith.mulf %e0, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<129x77xf32>
  return %r : tensor<129x77xf32>
}
//--- brain.mlir
func.func @forward(%a0: tensor<2x128x128xbf16>, %a1: tensor<2x64x128xbf16>) -> tensor<2x128x64xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x128x64xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x128x64xf32>) -> tensor<2x128x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<2x128x128xbf16>, tensor<2x64x128xbf16>) outs(%f : tensor<2x128x64xf32>) {
  ^bb0(%i0: bf16, %i1: bf16, %o: f32):
    %e0 = arith.extf %i0 : bf16 to f32
    %e1 = arith.extf %i1 : bf16 to f32
    %p = arith.mulf %e0, %e1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<2x128x64xf32>
  return %r : tensor<2x128x64xf32>
}
