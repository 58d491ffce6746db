// Nothing is fused where a workload would come to depend on itself.

// RUN: fastk-opt %s --split-input-file --fastk-form-workloads=fusion=greedy | FileCheck %s
// RUN: fastk-opt %s --split-input-file --fastk-form-workloads=fusion=whole | FileCheck %s --check-prefix=WHOLE

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// The product reads the matmul directly and through the sum: it cannot end the
// matmul, since the sum stands between them.
// CHECK-LABEL: func.func @diamond
// CHECK: %[[M:.*]] = fastk.workload {{.*}}(%arg0, %arg1)
// CHECK:   linalg.matmul
// CHECK:   fastk.yield %{{[^,]*}} :
// CHECK: %[[R:.*]] = fastk.workload {{.*}}(%[[M]])
// CHECK:   "reduction"
// CHECK:   arith.mulf
// CHECK: return %[[R]]
// WHOLE-LABEL: func.func @diamond
// WHOLE-COUNT-1: fastk.workload
// WHOLE-NOT: fastk.workload
func.func @diamond(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %er = tensor.empty() : tensor<8x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<8x1xf32>) -> tensor<8x1xf32>
  %m = linalg.matmul ins(%x, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<8x8xf32>) outs(%fr : tensor<8x1xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %a, %out : f32
    linalg.yield %s : f32
  } -> tensor<8x1xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%m, %sum : tensor<8x8xf32>, tensor<8x1xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.mulf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %n : tensor<8x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func private @opaque(tensor<8xf32>) -> tensor<8xf32>

// The call stands between the two, in every mode.
// CHECK-LABEL: func.func @through_a_call
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%arg0)
// CHECK: %[[C:.*]] = call @opaque(%[[A]])
// CHECK: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %[[C]])
// CHECK: return %[[B]]
// WHOLE-LABEL: func.func @through_a_call
// WHOLE: %[[A:.*]] = fastk.workload {{.*}}(%arg0)
// WHOLE: %[[C:.*]] = call @opaque(%[[A]])
// WHOLE: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %[[C]])
// WHOLE: return %[[B]]
func.func @through_a_call(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %c = call @opaque(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.add ins(%a, %c : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

func.func private @consume(tensor<8xf32>)
func.func private @produce() -> tensor<8xf32>

// No value goes from the first call to the second, but calls keep their order:
// one workload for both ops would have to stand before the first and after the
// second.
// CHECK-LABEL: func.func @effects_keep_order
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%arg0)
// CHECK: call @consume(%[[A]])
// CHECK: %[[C:.*]] = call @produce()
// CHECK: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %[[C]])
// CHECK: return %[[B]]
// WHOLE-LABEL: func.func @effects_keep_order
// WHOLE: %[[A:.*]] = fastk.workload {{.*}}(%arg0)
// WHOLE: call @consume(%[[A]])
// WHOLE: %[[C:.*]] = call @produce()
// WHOLE: %[[B:.*]] = fastk.workload {{.*}}(%[[A]], %[[C]])
// WHOLE: return %[[B]]
func.func @effects_keep_order(%x: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  call @consume(%a) : (tensor<8xf32>) -> ()
  %c = call @produce() : () -> tensor<8xf32>
  %b = linalg.add ins(%a, %c : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}

// -----

func.func private @opaque(tensor<8xf32>) -> tensor<8xf32>

// Each sum reads one exponential directly and the other through a call. Either
// sum may join its exponential; both would be a cycle of two workloads.
// CHECK-LABEL: func.func @crossed
// CHECK: %[[A:.*]] = fastk.workload {{.*}}(%arg0)
// CHECK: %[[CA:.*]] = call @opaque(%[[A]])
// CHECK: %[[BD:.*]]:2 = fastk.workload {{.*}}(%arg1, %[[CA]])
// CHECK: %[[CB:.*]] = call @opaque(%[[BD]]#0)
// CHECK: %[[C:.*]] = fastk.workload {{.*}}(%[[A]], %[[CB]])
// CHECK: return %[[C]], %[[BD]]#1
// WHOLE-LABEL: func.func @crossed
// WHOLE: fastk.workload
// WHOLE-COUNT-2: call @opaque
// WHOLE: fastk.workload
// WHOLE-NOT: fastk.workload
// WHOLE: return
func.func @crossed(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.exp ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %ca = call @opaque(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %cb = call @opaque(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %c = linalg.add ins(%a, %cb : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %d = linalg.add ins(%b, %ca : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %c, %d : tensor<8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func private @opaque(tensor<8xf32>) -> tensor<8xf32>

// What is copied into workloads is one of its own where an op outside needs it,
// not part of the workload that waits for that op.
// CHECK-LABEL: func.func @stray
// CHECK: %[[F:.*]] = fastk.workload "fill"
// CHECK: %[[O:.*]] = call @opaque(%[[F]])
// CHECK: fastk.workload "exp"(%[[O]])
// WHOLE-LABEL: func.func @stray
// WHOLE: %[[F:.*]] = fastk.workload "fill"
// WHOLE: %[[O:.*]] = call @opaque(%[[F]])
// WHOLE: fastk.workload "exp"(%[[O]])
func.func @stray() -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %o = call @opaque(%f) : (tensor<8xf32>) -> tensor<8xf32>
  %x = linalg.exp ins(%o : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %x : tensor<8xf32>
}
