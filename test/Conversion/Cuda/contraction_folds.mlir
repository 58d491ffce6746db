// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/bias.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/bias.low
// RUN: fastk-opt %t/bias.low --compile-kernel=program --target=cuda:sm_90a -o %t/bias
// RUN: cat %t/bias/plan.json %t/bias/kernel.ptx | FileCheck %s --check-prefix=BIAS
// RUN: fastk-opt %t/twice.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/twice.low
// RUN: fastk-opt %t/twice.low --compile-kernel=program --target=cuda:sm_90a -o %t/twice
// RUN: cat %t/twice/plan.json %t/twice/kernel.ptx | FileCheck %s --check-prefix=TWICE
// RUN: fastk-opt %t/onto.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/onto.low
// RUN: fastk-opt %t/onto.low --compile-kernel=program --target=cuda:sm_90a -o %t/onto
// RUN: cat %t/onto/plan.json %t/onto/kernel.ptx | FileCheck %s --check-prefix=CHAIN

// What a contraction's kernel computes besides, and what it may not.

// The fill before, and bias, relu, residual and narrowing behind.
// The memory of the sums is not asked for: that of their parts alone.
// BIAS: "workspaces": [
// BIAS-NEXT: {"bytes":{{[0-9]+}}}],
// BIAS-NEXT: "steps": [
// BIAS-NOT: "launch":"k2"
// BIAS: "out0"
// BIAS: }]}
// BIAS: max{{.*}}.f32
// BIAS: cvt.rn.f16{{(x2)?}}.f32

// The product itself is a result as well: the op behind it stays apart.
// TWICE: "launch":"k[[LAST:[0-9]+]]",{{.*}}"arguments":["out{{[01]}}","out{{[01]}}"]}]}

// Sums that begin with an operand: its copy is a kernel of its own or part of
// the one, never left out.
// CHAIN: "arguments":["in{{[0-2]}}",{{.*}}"out0"
// CHAIN: ld.global
// CHAIN: add{{(.rn)?}}.f32
// CHAIN: st.global

//--- bias.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @forward(%x: tensor<256x512xf32>, %w: tensor<512x384xf32>, %b: tensor<384xf32>, %y: tensor<256x384xf32>) -> tensor<256x384xf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x384xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x384xf32>) -> tensor<256x384xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x512xf32>, tensor<512x384xf32>) outs(%init : tensor<256x384xf32>) -> tensor<256x384xf32>
  %half = tensor.empty() : tensor<256x384xf16>
  %result = linalg.generic {indexing_maps = [#id, #row, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%product, %b, %y : tensor<256x384xf32>, tensor<384xf32>, tensor<256x384xf32>) outs(%half : tensor<256x384xf16>) {
  ^bb0(%p: f32, %c: f32, %r: f32, %out: f16):
    %0 = arith.addf %p, %c : f32
    %1 = arith.maximumf %0, %zero : f32
    %2 = arith.addf %1, %r : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<256x384xf16>
  return %result : tensor<256x384xf16>
}
//--- twice.mlir
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @forward(%x: tensor<256x512xf32>, %w: tensor<512x384xf32>) -> (tensor<256x384xf32>, tensor<256x384xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x384xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x384xf32>) -> tensor<256x384xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x512xf32>, tensor<512x384xf32>) outs(%init : tensor<256x384xf32>) -> tensor<256x384xf32>
  %result = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%product : tensor<256x384xf32>) outs(%empty : tensor<256x384xf32>) {
  ^bb0(%p: f32, %out: f32):
    %0 = arith.maximumf %p, %zero : f32
    linalg.yield %0 : f32
  } -> tensor<256x384xf32>
  return %product, %result : tensor<256x384xf32>, tensor<256x384xf32>
}
//--- onto.mlir
func.func @forward(%x: tensor<256x64xf32>, %w: tensor<64x256xf32>, %y: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %product = linalg.matmul ins(%x, %w : tensor<256x64xf32>, tensor<64x256xf32>) outs(%y : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %product : tensor<256x256xf32>
}
