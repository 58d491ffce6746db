// What a winner's region leaves over of a workload becomes part of what alone reads it, where the two as one have a winner.

// Winners of the matmul alone, and of layers with a scaled one added.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{bank} = python3 %S/../Bank/Inputs/make_bank.py
// RUN: fastk-opt --fastk-form-workloads=fusion=op --fastk-lower-workloads --mlir-print-local-scope %s | %{bank} %t/matmul --only='d0, d2'
// RUN: fastk-opt --fastk-form-workloads=fusion=greedy --fastk-lower-workloads --mlir-print-local-scope %S/Inputs/scaled_layers.mlir | %{bank} %t/both
// RUN: cp -r %t/matmul/. %t/both

// RUN: fastk-opt %s --fastk-form-workloads="bank=%t/both winners-from=any" --fastk-apply-winners="bank=%t/both winners-from=any" --remarks-filter=fastk 2>%t/remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=MERGED < %t/remarks
// MERGED: split {{.*}}regions=1{{.*}}workload=matmul_mul
// MERGED: merged {{.*}}only it reads the producer{{.*}}producer=mul
// MERGED-NOT: [Analysis] merged

// Where only the matmul has a winner the rest stays as the cut left it.
// RUN: fastk-opt %s --fastk-form-workloads="bank=%t/matmul winners-from=any" --fastk-apply-winners="bank=%t/matmul winners-from=any" --remarks-filter=fastk 2>%t/remarks | FileCheck %s --check-prefix=APART
// RUN: FileCheck %s --check-prefix=ALONE --allow-empty < %t/remarks
// APART-LABEL: func.func @read_once
// APART:         fastk.call
// APART:         %[[Z:.*]] = fastk.workload
// APART:         fastk.workload {{.*}}%[[Z]])
// ALONE-NOT: [Analysis] merged

#planes = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1)>
#layers = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#plane = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @read_once
// CHECK:         %[[Y:.*]] = fastk.call @w_
// CHECK-NEXT:    %[[R:.*]] = fastk.call @w_{{.*}}%[[Y]]
// CHECK-NEXT:    return %[[Y]], %[[R]]
func.func @read_once(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>, %s: tensor<48xf32>, %t: tensor<4x32x48xf32>) -> (tensor<32x48xf32>, tensor<4x32x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %z = linalg.generic {indexing_maps = [#planes, #columns, #planes], iterator_types = ["parallel", "parallel"]} ins(%y, %s : tensor<32x48xf32>, tensor<48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  %e1 = tensor.empty() : tensor<4x32x48xf32>
  %r = linalg.generic {indexing_maps = [#layers, #plane, #layers], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t, %z : tensor<4x32x48xf32>, tensor<32x48xf32>) outs(%e1 : tensor<4x32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x32x48xf32>
  return %y, %r : tensor<32x48xf32>, tensor<4x32x48xf32>
}

// A result stays one.
// CHECK-LABEL: func.func @returned
// CHECK:         %[[Y:.*]] = fastk.call @w_
// CHECK:         %[[Z:.*]] = fastk.workload "mul"
// CHECK:         %[[R:.*]] = fastk.workload "add"({{.*}}, %[[Z]])
// CHECK:         return %[[Y]], %[[Z]], %[[R]]
func.func @returned(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>, %s: tensor<48xf32>, %t: tensor<4x32x48xf32>) -> (tensor<32x48xf32>, tensor<32x48xf32>, tensor<4x32x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x48xf32>) -> tensor<32x48xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x48xf32>) outs(%f : tensor<32x48xf32>) -> tensor<32x48xf32>
  %z = linalg.generic {indexing_maps = [#planes, #columns, #planes], iterator_types = ["parallel", "parallel"]} ins(%y, %s : tensor<32x48xf32>, tensor<48xf32>) outs(%e : tensor<32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<32x48xf32>
  %e1 = tensor.empty() : tensor<4x32x48xf32>
  %r = linalg.generic {indexing_maps = [#layers, #plane, #layers], iterator_types = ["parallel", "parallel", "parallel"]} ins(%t, %z : tensor<4x32x48xf32>, tensor<32x48xf32>) outs(%e1 : tensor<4x32x48xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.addf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<4x32x48xf32>
  return %y, %z, %r : tensor<32x48xf32>, tensor<32x48xf32>, tensor<4x32x48xf32>
}
