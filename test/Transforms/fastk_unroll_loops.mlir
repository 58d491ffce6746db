// RUN: fastk-opt --fastk-unroll-loops %s | FileCheck %s
// RUN: fastk-opt --fastk-unroll-loops=every %s | FileCheck %s --check-prefix=EVERY

// A recurrence of three steps: slices are at constant places afterwards, and
// what is written row by row is put together at once.
// CHECK-LABEL: @recurrence
// CHECK-NOT: scf.for
// CHECK: tensor.extract_slice %{{.*}}[2, 0] [1, 4] [1, 1]
// CHECK: %[[A:.*]] = linalg.add
// CHECK: tensor.extract_slice %{{.*}}[1, 0]
// CHECK: %[[B:.*]] = linalg.add ins(%{{.*}}, %[[A]]
// CHECK: tensor.extract_slice %{{.*}}[0, 0]
// CHECK: %[[C:.*]] = linalg.add ins(%{{.*}}, %[[B]]
// CHECK-DAG: %[[LAST:.*]] = tensor.expand_shape %[[A]] {{\[\[}}0, 1]]
// CHECK-DAG: %[[MIDDLE:.*]] = tensor.expand_shape %[[B]]
// CHECK-DAG: %[[FIRST:.*]] = tensor.expand_shape %[[C]]
// CHECK-NOT: insert_slice
// CHECK: tensor.concat dim(0) %[[FIRST]], %[[MIDDLE]], %[[LAST]]
// CHECK-NOT: scf.for
func.func @recurrence(%x: tensor<3x4xf32>, %s: tensor<4xf32>) -> tensor<3x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x4xf32>
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %e, %h = %s) -> (tensor<3x4xf32>, tensor<4xf32>) {
    %t = arith.subi %c2, %i : index
    %g = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<3x4xf32> to tensor<4xf32>
    %n = tensor.empty() : tensor<4xf32>
    %a = linalg.add ins(%g, %h : tensor<4xf32>, tensor<4xf32>) outs(%n : tensor<4xf32>) -> tensor<4xf32>
    %w = tensor.insert_slice %a into %o[%t, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<3x4xf32>
    scf.yield %w, %a : tensor<3x4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<3x4xf32>
}

// A length that a call decides, and a loop without tensors, stay.
// CHECK-LABEL: @others
// CHECK: scf.for
// CHECK: scf.for
func.func @others(%n: index, %s: tensor<4xf32>) -> (tensor<4xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %s) -> (tensor<4xf32>) {
    %a = linalg.exp ins(%h : tensor<4xf32>) outs(%h : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  }
  %k = scf.for %i = %c0 to %c3 step %c1 iter_args(%j = %n) -> (index) {
    %t = arith.muli %j, %i : index
    scf.yield %t : index
  }
  return %r, %k : tensor<4xf32>, index
}

// From five iterations on it is a repeat of the plan, whose slices are at places
// that follow from the counter.
// EVERY-LABEL: @repeated
// EVERY-NOT: scf.for
// EVERY: return
// CHECK-LABEL: @repeated
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [1, 4] [1, 1]
// CHECK: scf.for
// CHECK: scf.yield
// CHECK: tensor.insert_slice
func.func @repeated(%x: tensor<11x4xf32>, %s: tensor<4xf32>) -> tensor<11x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<11x4xf32>
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%o = %e, %h = %s) -> (tensor<11x4xf32>, tensor<4xf32>) {
    %d = arith.muli %i, %c2 : index
    %t = arith.subi %c10, %d : index
    %g = tensor.extract_slice %x[%t, 0] [1, 4] [1, 1] : tensor<11x4xf32> to tensor<4xf32>
    %n = tensor.empty() : tensor<4xf32>
    %a = scf.for %j = %c0 to %c5 step %c1 iter_args(%k = %h) -> (tensor<4xf32>) {
      %b = linalg.add ins(%g, %k : tensor<4xf32>, tensor<4xf32>) outs(%n : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %b : tensor<4xf32>
    }
    %w = tensor.insert_slice %a into %o[%t, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<11x4xf32>
    scf.yield %w, %a : tensor<11x4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<11x4xf32>
}

// A number that is carried, a place that is no multiple of the counter, and a
// size that is not known are constants when all is written out.
// CHECK-LABEL: @no_repeats
// CHECK-NOT: scf.for
// CHECK: return
func.func @no_repeats(%x: tensor<40x4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %a:2 = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %s, %k = %c0) -> (tensor<4xf32>, index) {
    %row = tensor.extract_slice %x[%k, 0] [1, 4] [1, 1] : tensor<40x4xf32> to tensor<4xf32>
    %n = linalg.add ins(%h, %row : tensor<4xf32>, tensor<4xf32>) outs(%h : tensor<4xf32>) -> tensor<4xf32>
    %l = arith.addi %k, %c3 : index
    scf.yield %n, %l : tensor<4xf32>, index
  }
  %b = scf.for %i = %c0 to %c6 step %c1 iter_args(%h = %s) -> (tensor<4xf32>) {
    %k = arith.muli %i, %i : index
    %row = tensor.extract_slice %x[%k, 0] [1, 4] [1, 1] : tensor<40x4xf32> to tensor<4xf32>
    %n = linalg.add ins(%h, %row : tensor<4xf32>, tensor<4xf32>) outs(%h : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %n : tensor<4xf32>
  }
  %c = scf.for %i = %c1 to %c6 step %c1 iter_args(%h = %s) -> (tensor<4xf32>) {
    %rows = tensor.extract_slice %x[0, 0] [%i, 4] [1, 1] : tensor<40x4xf32> to tensor<?x4xf32>
    %n = linalg.reduce {arith.addf} ins(%rows : tensor<?x4xf32>) outs(%h : tensor<4xf32>) dimensions = [0]
    scf.yield %n : tensor<4xf32>
  }
  // The inner one is of known length only then.
  %d = scf.for %i = %c0 to %c5 step %c1 iter_args(%h = %s) -> (tensor<4xf32>) {
    %m = scf.for %j = %c0 to %i step %c1 iter_args(%g = %h) -> (tensor<4xf32>) {
      %n = linalg.add ins(%g, %s : tensor<4xf32>, tensor<4xf32>) outs(%g : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %n : tensor<4xf32>
    }
    scf.yield %m : tensor<4xf32>
  }
  return %a#0, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
