// What crosses a workload's border: results read elsewhere, constants, views,
// slices, copies.

// RUN: fastk-opt %s --split-input-file --fastk-form-workloads | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// An interior value that is read elsewhere is one more result.
// CHECK-LABEL: func.func @interior_value
// CHECK-NEXT: %[[R:.*]]:2 = fastk.workload {{.*}}(%arg0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @interior_value(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.abs ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// A residual with three readers: one result, read three times.
// CHECK-LABEL: func.func @residual_read_often
// CHECK: %[[Y:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%[[Y]], %arg1)
// CHECK:   linalg.matmul
// CHECK:   linalg.add
// CHECK: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %arg1, %[[Y]])
// CHECK:   linalg.matmul
// CHECK:   linalg.add
// CHECK: return %[[B]]
func.func @residual_read_often(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%y, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = linalg.add ins(%y, %m : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = linalg.matmul ins(%a, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = linalg.add ins(%y, %n : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// Large constants are data and come in as operands, so that layers that differ
// in them share a key; small ones are part of the computation.
// CHECK-LABEL: func.func @constants
// CHECK: %[[DATA:.*]] = arith.constant dense_resource
// CHECK: fastk.workload {{.*}}(%arg0, %[[DATA]])
// CHECK: arith.constant dense<[1.000000e+00, 2.000000e+00]>
func.func @constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %small = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %data = arith.constant dense_resource<weights> : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %a = linalg.add ins(%x, %small : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %b = linalg.mul ins(%a, %data : tensor<2xf32>, tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}
{-#
  dialect_resources: { builtin: { weights: "0x040000000000803F00000040" } }
#-}

// -----

// A fill that is read inside and returned: the reader copies it.
// CHECK-LABEL: func.func @fill_returned
// CHECK-DAG: %[[F:.*]] = fastk.workload {{.*}}() : () -> tensor<8x8xf32>
// CHECK-DAG: %[[M:.*]] = fastk.workload {{.*}}(%arg0, %arg1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: return %[[M]], %[[F]]
func.func @fill_returned(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %m, %f : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Views at the border stay outside, views between members come in.
// CHECK-LABEL: func.func @views
// CHECK: %[[V:.*]] = tensor.expand_shape %arg0
// CHECK: %[[R:.*]] = fastk.workload {{.*}}(%[[V]]) : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK:   tensor.collapse_shape
// CHECK: }
// CHECK: tensor.expand_shape %[[R]]
func.func @views(%x: tensor<8xf32>) -> tensor<4x2xf32> {
  %v = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %e0 = tensor.empty() : tensor<2x4xf32>
  %a = linalg.exp ins(%v : tensor<2x4xf32>) outs(%e0 : tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = tensor.collapse_shape %a [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %b = linalg.abs ins(%c : tensor<8xf32>) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %r = tensor.expand_shape %b [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// -----

// Rotary embedding: halves swapped, one negated. Slices and the concatenation
// between members are inside.
// CHECK-LABEL: func.func @rotate_half
// CHECK-NEXT: %[[R:.*]] = fastk.workload {{.*}}(%arg0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-COUNT-2: tensor.extract_slice
// CHECK: tensor.concat
// CHECK: return %[[R]]
func.func @rotate_half(%x: tensor<8xf32>, %sin: tensor<8xf32>) -> tensor<8xf32> {
  %l = tensor.extract_slice %x[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %h = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %n = linalg.negf ins(%h : tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %c = tensor.concat dim(0) %n, %l : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %p = linalg.mul ins(%c, %sin : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %p : tensor<8xf32>
}

// -----

// A concatenation that only joins what two workloads wrote stays a copy outside.
// CHECK-LABEL: func.func @concat_of_arguments
// CHECK: %[[C:.*]] = tensor.concat
// CHECK: fastk.workload {{.*}}(%[[C]])
func.func @concat_of_arguments(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %c = tensor.concat dim(0) %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %p = linalg.exp ins(%c : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %p : tensor<8xf32>
}

// -----

// Nothing is computed here, so nothing is formed.
// CHECK-LABEL: func.func @shapes_only
// CHECK-NOT: fastk.workload
// CHECK: return
func.func @shapes_only(%x: tensor<8xf32>) -> tensor<2x2xf32> {
  %s = tensor.extract_slice %x[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = tensor.expand_shape %s [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// -----

// A scalar read from a tensor is read inside.
// CHECK-LABEL: func.func @scalar_from_tensor
// CHECK-NEXT: fastk.workload {{.*}}(%arg1, %arg0) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK: tensor.extract
func.func @scalar_from_tensor(%x: tensor<8xf32>, %s: tensor<f32>) -> tensor<8xf32> {
  %v = tensor.extract %s[] : tensor<f32>
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %p = linalg.mul ins(%f, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %p : tensor<8xf32>
}

// -----

// Each branch is formed on its own; nothing crosses the branch.
// CHECK-LABEL: func.func @branches
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%arg1)
// CHECK: %[[B:.*]] = scf.if %arg0
// CHECK:   %[[T:.*]] = fastk.workload {{.*}}(%[[A]])
// CHECK:   scf.yield %[[T]]
// CHECK: } else {
// CHECK:   scf.yield %[[A]]
// CHECK: %[[C:.*]] = fastk.workload {{.*}}(%[[B]])
// CHECK: return %[[C]]
func.func @branches(%p: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %b = scf.if %p -> (tensor<8xf32>) {
    %t = linalg.abs ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %t : tensor<8xf32>
  } else {
    scf.yield %a : tensor<8xf32>
  }
  %c = linalg.exp ins(%b : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}
