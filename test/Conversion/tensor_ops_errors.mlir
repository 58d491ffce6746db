// What has no lowering is refused by name, for both targets.

// RUN: not fastk-opt %s --emit=so -o %t.so 2>&1 | FileCheck %s
// RUN: not fastk-opt %s --target=cuda:sm_90a --emit=so -o %t.so 2>&1 | FileCheck %s
// CHECK: tensor_ops_errors.mlir:[[#@LINE+5]]:{{.*}}: error: 'tensor.gather' op has no lowering: write it as linalg.generic (required by 'fastk.default_lowering')
// CHECK-NOT: error:

func.func @gather(%a: tensor<5x18xf32>, %i: tensor<2x1xi64>) -> tensor<2x18xf32> {
  %0 = arith.index_cast %i : tensor<2x1xi64> to tensor<2x1xindex>
  %r = tensor.gather %a[%0] gather_dims([0]) : (tensor<5x18xf32>, tensor<2x1xindex>) -> tensor<2x18xf32>
  return %r : tensor<2x18xf32>
}
