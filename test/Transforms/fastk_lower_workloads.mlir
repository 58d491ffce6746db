// Each workload becomes a call of its default lowering, one for each key.

// RUN: fastk-opt %s --split-input-file --fastk-lower-workloads | FileCheck %s
// RUN: fastk-opt %golden/transformer_block_small.mlir --fastk-form-workloads --fastk-lower-workloads | FileCheck %s --check-prefix=BLOCK
// RUN: fastk-opt %s --split-input-file --fastk-lower-workloads --remarks-filter=fastk -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Seven workloads, six keys: the two layer norms are one.
// BLOCK: func.func @forward
// BLOCK: fastk.call @[[NORM:w_[0-9a-f]+]](
// BLOCK: fastk.call
// BLOCK: fastk.call
// BLOCK: fastk.call
// BLOCK: fastk.call @[[NORM]](
// BLOCK: fastk.call
// BLOCK: fastk.call
// BLOCK-NOT: fastk.call
// BLOCK-COUNT-6: fastk.lowering @w_
// BLOCK-NOT: fastk.lowering
// BLOCK-NOT: fastk.workload

// Operands come in canonical order whatever the order they were passed in:
// b - a here, and one lowering for both.
// CHECK-LABEL: func.func @operand_order
// CHECK: %[[X:.*]] = fastk.call @[[W:w_[0-9a-f]+]](%[[A:.*]], %[[B:.*]]) :
// CHECK: %[[Y:.*]] = fastk.call @[[W]](%[[A]], %[[B]]) :
// CHECK: return %[[X]], %[[Y]]
// CHECK: fastk.lowering @[[W]] attributes {{.*}}language = {{.*}}target = "host"
// CHECK-NOT: fastk.lowering
func.func @operand_order(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %x = fastk.workload "sub"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%l: tensor<8xf32>, %r: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.sub ins(%r, %l : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    fastk.yield %s : tensor<8xf32>
  }
  %y = fastk.workload "sub"(%b, %a) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%l: tensor<8xf32>, %r: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.sub ins(%l, %r : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    fastk.yield %s : tensor<8xf32>
  }
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// Results are permuted back.
// CHECK-LABEL: func.func @result_order
// CHECK: %[[P:.*]]:2 = fastk.call @[[W:w_[0-9a-f]+]](%arg0)
// CHECK: %[[Q:.*]]:2 = fastk.call @[[W]](%arg0)
// CHECK: return %[[P]]#[[I:[01]]], %[[P]]#[[J:[01]]], %[[Q]]#[[J]], %[[Q]]#[[I]]
func.func @result_order(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %x:2 = fastk.workload "two"(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%l: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.exp ins(%l : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %t = linalg.abs ins(%l : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    fastk.yield %s, %t : tensor<8xf32>, tensor<8xf32>
  }
  %y:2 = fastk.workload "two"(%a) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%l: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %s = linalg.exp ins(%l : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %t = linalg.abs ins(%l : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    fastk.yield %t, %s : tensor<8xf32>, tensor<8xf32>
  }
  return %x#0, %x#1, %y#0, %y#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// No lowering has a dynamic shape: the workload is dissolved.
// REMARK: [Missed] dissolved | Category:fastk | Function=dynamic | Reason="only workloads on tensors of static shape have a lowering"
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: fastk.workload
// CHECK: linalg.exp ins(%arg0
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  %x = fastk.workload "exp"(%a) : (tensor<?xf32>) -> tensor<?xf32> {
  ^bb0(%l: tensor<?xf32>):
    %s = linalg.exp ins(%l : tensor<?xf32>) outs(%l : tensor<?xf32>) -> tensor<?xf32>
    fastk.yield %s : tensor<?xf32>
  }
  return %x : tensor<?xf32>
}
