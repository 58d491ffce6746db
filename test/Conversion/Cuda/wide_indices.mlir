// RUN: rm -rf %t && split-file %s %t
// RUN: fastk-opt %t/rows.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/rows.low
// RUN: fastk-opt %t/rows.low --compile-kernel=program --target=cuda:sm_90a -o %t/rows
// RUN: cat %t/rows/plan.json %t/rows/kernel.ptx | FileCheck %s --check-prefix=ROWS
// RUN: fastk-opt %t/product.mlir --fastk-form-workloads --fastk-lower-workloads -o %t/product.low
// RUN: fastk-opt %t/product.low --compile-kernel=program --target=cuda:sm_90a -o %t/product
// RUN: cat %t/product/plan.json %t/product/kernel.ptx | FileCheck %s --check-prefix=PRODUCT

// Tensors of 2^31 elements: a place is a 64-bit number before it is one of bytes.

// A row a block, 16 KB each.
// ROWS: {"launch":"k0","grid":[524288,1,1],"block":[256,1,1],
// ROWS: mov.u32 [[ROW:%r[0-9]+]], %ctaid.x;
// ROWS: mul.wide.u32 [[PLACE:%rd[0-9]+]], [[ROW]], 16384;
// ROWS: add.s64 [[BASE:%rd[0-9]+]], {{%rd[0-9]+}}, [[PLACE]];
// ROWS: ld.global.v4.b32

// Numbers of 32 bits within one matrix of a batch, 64 MB; batches by 64 bits.
// PRODUCT: {"launch":"k0","grid":[65536,1,1],
// PRODUCT: shl.b64 [[BATCH:%rd[0-9]+]], {{%rd[0-9]+}}, 26;
// PRODUCT-NEXT: add.s64 [[MATRIX:%rd[0-9]+]], {{%rd[0-9]+}}, [[BATCH]];
// PRODUCT-NEXT: mul.wide.u32 [[INSIDE:%rd[0-9]+]], {{%r[0-9]+}}, 4;
// PRODUCT-NEXT: add.s64 [[RESULT:%rd[0-9]+]], [[MATRIX]], [[INSIDE]];
// PRODUCT-NEXT: st.global.v2.b32 {{\[}}[[RESULT]]],

//--- rows.mlir
func.func @forward(%a: tensor<128x4096x4096xf32>) -> tensor<128x4096xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x4096xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x4096xf32>) -> tensor<128x4096xf32>
  %r = linalg.reduce {arith.addf} ins(%a : tensor<128x4096x4096xf32>) outs(%f : tensor<128x4096xf32>) dimensions = [2]
  return %r : tensor<128x4096xf32>
}

//--- product.mlir
func.func @forward(%a: tensor<128x4096x128xf16>, %b: tensor<128x4096x128xf16>) -> tensor<128x4096x4096xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x4096x4096xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<128x4096x4096xf32>) -> tensor<128x4096x4096xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<128x4096x128xf16>, tensor<128x4096x128xf16>) outs(%f : tensor<128x4096x4096xf32>) {
  ^bb0(%i: f16, %j: f16, %o: f32):
    %x = arith.extf %i : f16 to f32
    %y = arith.extf %j : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<128x4096x4096xf32>
  return %r : tensor<128x4096x4096xf32>
}
