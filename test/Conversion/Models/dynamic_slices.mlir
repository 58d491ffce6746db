// Slices whose size is in a tensor, as x[:n] in Torch: what a function returns is copied without a
// function of MLIR's libraries, whatever the strides are.
// RUN: rm -rf %t && mkdir -p %t/bank
// RUN: fastk-opt %s --bank=%t/bank --emit=llvm | FileCheck %s --check-prefix=IR
// IR-NOT: memrefCopy
// RUN: fastk-opt %s --bank=%t/bank --emit=so -o %t/out.so
// RUN: python3 %S/../Inputs/call_slices.py %t/out.so | FileCheck %s
// CHECK: rows (0, 3) []
// CHECK-NEXT: rows (2, 3) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
// CHECK-NEXT: rows (4, 3) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
// CHECK-NEXT: columns (4, 0) []
// CHECK-NEXT: columns (4, 2) [0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0, 10.0]
// CHECK-NEXT: columns (4, 3) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
// CHECK-NEXT: after (3, 3) [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
// CHECK-NEXT: steps (2, 3) [0.0, 1.0, 2.0, 6.0, 7.0, 8.0]
// CHECK-NEXT: flat (6,) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
// CHECK-NEXT: line (2,) [0.0, 1.0]
// CHECK-NEXT: written (4, 3) [9.0, 10.0, 11.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
// CHECK-NEXT: wide (3, 2) [0.0, 1.0, 4.0, 5.0, 8.0, 9.0]
// CHECK-NEXT: wide (3, 4) [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]

func.func private @size(%n: tensor<i64>) -> index {
  %v = tensor.extract %n[] : tensor<i64>
  %i = arith.index_cast %v : i64 to index
  return %i : index
}

func.func @rows(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<?x3xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %s = tensor.extract_slice %x[0, 0] [%i, 3] [1, 1] : tensor<4x3xf32> to tensor<?x3xf32>
  return %s : tensor<?x3xf32>
}

func.func @columns(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<4x?xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %s = tensor.extract_slice %x[0, 0] [4, %i] [1, 1] : tensor<4x3xf32> to tensor<4x?xf32>
  return %s : tensor<4x?xf32>
}

func.func @after(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<?x3xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %c4 = arith.constant 4 : index
  %rest = arith.subi %c4, %i : index
  %s = tensor.extract_slice %x[%i, 0] [%rest, 3] [1, 1] : tensor<4x3xf32> to tensor<?x3xf32>
  return %s : tensor<?x3xf32>
}

func.func @steps(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<?x3xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %c4 = arith.constant 4 : index
  %count = arith.ceildivui %c4, %i : index
  %s = tensor.extract_slice %x[0, 0] [%count, 3] [%i, 1] : tensor<4x3xf32> to tensor<?x3xf32>
  return %s : tensor<?x3xf32>
}

func.func @flat(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %s = tensor.extract_slice %x[0, 0] [%i, 3] [1, 1] : tensor<4x3xf32> to tensor<?x3xf32>
  %f = tensor.collapse_shape %s [[0, 1]] : tensor<?x3xf32> into tensor<?xf32>
  return %f : tensor<?xf32>
}

func.func @line(%x: tensor<12xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %s = tensor.extract_slice %x[0] [%i] [1] : tensor<12xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

// The last rows over the first ones.
func.func @written(%x: tensor<4x3xf32>, %n: tensor<i64>) -> tensor<?x3xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %c4 = arith.constant 4 : index
  %from = arith.subi %c4, %i : index
  %s = tensor.extract_slice %x[%from, 0] [%i, 3] [1, 1] : tensor<4x3xf32> to tensor<?x3xf32>
  %w = tensor.insert_slice %s into %x[0, 0] [%i, 3] [1, 1] : tensor<?x3xf32> into tensor<4x3xf32>
  %r = tensor.cast %w : tensor<4x3xf32> to tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

func.func @wide(%x: tensor<?x?xf32>, %n: tensor<i64>) -> tensor<?x?xf32> {
  %i = func.call @size(%n) : (tensor<i64>) -> index
  %c0 = arith.constant 0 : index
  %all = tensor.dim %x, %c0 : tensor<?x?xf32>
  %s = tensor.extract_slice %x[0, 0] [%all, %i] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
  return %s : tensor<?x?xf32>
}
