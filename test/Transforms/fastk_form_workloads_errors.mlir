// What cannot be part of a workload stays, and each op says why.

// RUN: not fastk-opt %s --fastk-form-workloads=fusion=maximal --allow-unregistered-dialect 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: fastk-opt %s --fastk-form-workloads --allow-unregistered-dialect --remarks-filter=fastk -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: fastk-opt %s --fastk-form-workloads --allow-unregistered-dialect | FileCheck %s
// RUN: fastk-opt %s --fastk-form-workloads=fusion=whole --allow-unregistered-dialect | FileCheck %s
// RUN: fastk-opt %s --fastk-form-workloads=fusion=op --allow-unregistered-dialect | FileCheck %s

// OPTION: for the --fusion option: unknown fusion 'maximal': choose op, greedy or whole

// REMARK: :[[#@LINE+6]]:{{.*}} [Missed] left-outside | Category:fastk | Function=dynamic | Reason="linalg.exp has a dynamic shape"
// REMARK: [Analysis] workloads | Category:fastk | Function=dynamic | ops=0, outside=1, workloads=0
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: fastk.workload
// CHECK: linalg.exp
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.exp ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// REMARK: Function=no_elements | Reason="linalg.exp has a tensor without elements"
// CHECK-LABEL: func.func @no_elements
// CHECK-NOT: fastk.workload
// CHECK: linalg.exp
func.func @no_elements(%x: tensor<0xf32>) -> tensor<0xf32> {
  %r = linalg.exp ins(%x : tensor<0xf32>) outs(%x : tensor<0xf32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}

// REMARK: Function=run_time_scalar | Reason="linalg.fill takes a scalar that is known at run time only"
// CHECK-LABEL: func.func @run_time_scalar
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: fastk.workload {{.*}}(%[[F]])
func.func @run_time_scalar(%s: f32) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.exp ins(%f : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// REMARK: Function=side_effects | Reason="cf.assert has side effects"
// REMARK: Function=side_effects | Reason="other.op is unknown and may have side effects"
// CHECK-LABEL: func.func @side_effects
// CHECK: cf.assert
// CHECK: %[[O:.*]] = "other.op"(%arg1)
// CHECK: fastk.workload {{.*}}(%[[O]])
func.func @side_effects(%p: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  cf.assert %p, "sizes must match"
  %o = "other.op"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %r = linalg.exp ins(%o : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// REMARK: Function=control_flow | Reason="scf.if is control flow or has a region of its own"
// CHECK-LABEL: func.func @control_flow
// CHECK: scf.if
func.func @control_flow(%p: i1, %x: tensor<8xf32>) -> tensor<8xf32> {
  %b = scf.if %p -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    // CHECK: fastk.workload {{.*}}(%arg1)
    %t = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %t : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  return %b : tensor<8xf32>
}

// REMARK: Function=on_buffers | Reason="linalg.exp works on buffers"
// CHECK-LABEL: func.func @on_buffers
// CHECK-NOT: fastk.workload
// CHECK: linalg.exp
func.func @on_buffers(%x: memref<8xf32>) {
  linalg.exp ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// Arithmetic on whole tensors is taken along, but not beside a scalar.
// REMARK: Function=tensor_arith | Reason="arith.select takes a scalar that is known at run time only"
// CHECK-LABEL: func.func @tensor_arith
// CHECK: %[[S:.*]] = arith.select
// CHECK: fastk.workload {{.*}}%[[S]]
func.func @tensor_arith(%p: i1, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %s = arith.select %p, %x, %y : tensor<8xf32>
  %a = arith.addf %s, %x : tensor<8xf32>
  return %a : tensor<8xf32>
}
