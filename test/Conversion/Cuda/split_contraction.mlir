// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/long.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/long.low
// RUN: fastk-opt %t/long.low --compile-kernel=program --target=cuda:sm_90a -o %t/long
// RUN: cat %t/long/plan.json %t/long/kernel.ptx | FileCheck %s --check-prefix=LONG

// Few tiles and long sums: parts of the sums go to scratch memory, a second
// kernel adds them up.

// LONG: "workspaces": [
// LONG-NEXT: {"bytes":[[BYTES:[0-9]+]]}],
// LONG: {"launch":"k0","grid":[{{[0-9]+}},1,1],{{.*}}"arguments":["in0","in1","ws0"]},
// LONG-NEXT: {"launch":"k1","grid":[{{[0-9]+}},1,1],{{.*}}"arguments":["out0","ws0"]}]}
// LONG: .visible .entry k0(
// LONG: fma.rn.f32
// LONG: .visible .entry k1(
// LONG-NOT: fma.rn.f32
// LONG: ld.global.v4.b32
// LONG: add{{(.rn)?}}.f32
// LONG: st.global.v4.b32

//--- long.mlir
func.func @forward(%a0: tensor<64x4096xf32>, %a1: tensor<4096x96xf32>) -> tensor<64x96xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x96xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x96xf32>) -> tensor<64x96xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<64x4096xf32>, tensor<4096x96xf32>) outs(%f : tensor<64x96xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
    %p = arith.mulf %i0, %i1 : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}
