// The key is the same in every process, whatever the command line says about
// printing, for each way to write one computation; and the canonical form has
// the key of what it came from.

// RUN: fastk-opt %s --fastk-canonicalize-workloads -o %t.1
// RUN: fastk-opt %s --fastk-canonicalize-workloads --mlir-print-debuginfo --mlir-print-op-generic --mlir-print-value-users --mlir-print-unique-ssa-ids --mlir-use-nameloc-as-prefix --mlir-elide-elementsattrs-if-larger=1 --mlir-print-elementsattrs-with-hex-if-larger=1 --mlir-disable-threading -o %t.2
// RUN: fastk-opt %t.1 --fastk-canonicalize-workloads -o %t.3
// RUN: grep -o 'fastk.key = "[0-9a-f]*"' %t.1 > %t.keys1
// RUN: grep -o 'fastk.key = "[0-9a-f]*"' %t.2 > %t.keys2
// RUN: diff %t.keys1 %t.keys2
// RUN: diff %t.1 %t.3
// RUN: FileCheck %s < %t.keys1

// Three times the same, then two that differ.
// CHECK:      fastk.key = "[[KEY:[0-9a-f]+]]"
// CHECK-NEXT: fastk.key = "[[KEY]]"
// CHECK-NEXT: fastk.key = "[[KEY]]"
// CHECK-NOT:  fastk.key = "[[KEY]]"
// CHECK:      fastk.key = "[[OTHER:[0-9a-f]+]]"
// CHECK-NOT:  fastk.key = "[[KEY]]"
// CHECK-NOT:  fastk.key = "[[OTHER]]"
// CHECK:      fastk.key =

#id = affine_map<(d0) -> (d0)>

func.func @named(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %0 = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.mul ins(%0, %c : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

func.func @generic(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "other name"(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>, %a: tensor<4xf32>):
    %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%b, %a : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) attrs = {test.note = 1} {
    ^bb0(%q: f32, %p: f32, %o: f32):
      %s = arith.subf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
        ins(%c, %0 : tensor<4xf32>, tensor<4xf32>) outs(%b : tensor<4xf32>) {
    ^bb0(%q: f32, %p: f32, %o: f32):
      %s = arith.mulf %q, %p : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    fastk.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

func.func @resource(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = arith.constant dense_resource<weights> : tensor<4xf32>
    %0 = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.mul ins(%c, %0 : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// One element of the constant is another.
func.func @another_constant(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = arith.constant dense<[1.0, 2.0, 3.0, 5.0]> : tensor<4xf32>
    %0 = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.mul ins(%c, %0 : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The resource of this name has other bytes.
func.func @another_resource(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = fastk.workload "w"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %c = arith.constant dense_resource<others> : tensor<4xf32>
    %0 = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    %1 = linalg.mul ins(%c, %0 : tensor<4xf32>, tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
    fastk.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F000000400000404000008040",
      others: "0x040000000000803F0000004000004040000080C0"
    }
  }
#-}
