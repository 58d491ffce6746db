// RUN: fastk-opt --verify-roundtrip %s | FileCheck %s

// CHECK-LABEL: func.func @workload
func.func @workload(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: fastk.workload "identity"(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf32> {
  %r = fastk.workload "identity"(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // CHECK: fastk.yield %{{.*}} : tensor<8xf32>
    fastk.yield %a : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}
