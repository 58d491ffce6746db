// RUN: fastk-opt %s --fastk-decide-parallelism | FileCheck %s
// RUN: fastk-opt %s --fastk-decide-parallelism=threads=false | FileCheck %s --check-prefix=ALONE
// RUN: fastk-opt %s --fastk-decide-parallelism=at-run-time | FileCheck %s --check-prefix=ASKS

// ALONE-NOT: scf.parallel

// One level of a large nest is parallel.
// CHECK-LABEL: func.func @nest
// CHECK: scf.parallel
// CHECK: scf.for
// CHECK-NOT: scf.parallel
func.func @nest(%x: memref<1024x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c1024) step (%c1) {
    scf.parallel (%j) = (%c0) to (%c1024) step (%c1) {
      memref.store %one, %x[%i, %j] : memref<1024x1024xf32>
    }
  }
  return
}

// A loop of unknown length is asked when it runs, or taken for a small one.
// CHECK-LABEL: func.func @open
// CHECK: scf.for
// ASKS-LABEL: func.func @open
// ASKS: %[[WORK:.*]] = arith.muli
// ASKS: %[[PAYS:.*]] = arith.cmpi sge, %[[WORK]]
// ASKS: scf.if %[[PAYS]]
// ASKS: scf.parallel
// ASKS: else
// ASKS: scf.for
func.func @open(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %one, %x[%i] : memref<?xf32>
  }
  return
}
