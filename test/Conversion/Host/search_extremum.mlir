// Which loops look for the place of an extremum in pieces of a row.
// RUN: fastk-opt %s --fastk-linalg-to-loops | FileCheck %s
// RUN: fastk-opt %s --pass-pipeline='builtin.module(fastk-linalg-to-loops{relaxed=false})' | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: arith.minui {{.*}} : i32

#all = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>

// First the extremum of a piece; its place, where it is beyond what came before; step by step, where it is a NaN.
// CHECK-LABEL: func.func @most
// CHECK: scf.parallel
// CHECK: %[[PIECE:.*]] = arith.constant 512 : index
// CHECK: scf.for %[[FROM:.*]] = %{{.*}} step %[[PIECE]] iter_args(%[[VALUE:.*]] = %{{.*}}, %[[PLACE:.*]] = %{{.*}})
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: %[[MOST:.*]] = scf.for
// CHECK: arith.maximumf
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[MOST]], %[[MOST]]
// CHECK: scf.if %[[NAN]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[VALUE]], %{{.*}} = %[[PLACE]])
// CHECK: } else {
// CHECK: %[[BEYOND:.*]] = arith.cmpf ogt, %[[MOST]], %[[VALUE]]
// CHECK: scf.if %[[BEYOND]]
// CHECK: scf.for
// CHECK: arith.cmpf oeq, %{{.*}}, %[[MOST]]
// CHECK: arith.minui {{.*}} : i32
// CHECK: } else {
// CHECK: %[[SIGN:.*]] = arith.maximumf %[[MOST]], %[[VALUE]]
// CHECK: scf.yield %[[SIGN]], %[[PLACE]]
func.func @most(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// Integers are never NaN. What belongs to the place may be read there.
// CHECK-LABEL: func.func @integers
// CHECK-NOT: arith.cmpf
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi eq
// CHECK: arith.minui {{.*}} : i32
// CHECK: memref.load %{{.*}} : memref<?x?xf16>
func.func @integers(%x: memref<?x?xi32>, %y: memref<?x?xf16>, %v: memref<?xi32>, %p: memref<?xf16>) {
  linalg.generic {indexing_maps = [#all, #all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x, %y : memref<?x?xi32>, memref<?x?xf16>) outs(%v, %p : memref<?xi32>, memref<?xf16>) {
  ^bb0(%a: i32, %b: f16, %m: i32, %k: f16):
    %0 = arith.minsi %a, %m : i32
    %c = arith.cmpi slt, %a, %m : i32
    %1 = arith.select %c, %b, %k : f16
    linalg.yield %0, %1 : i32, f16
  }
  return
}

// The last of equal ones is another question.
// CHECK-LABEL: func.func @last
// CHECK-NOT: scf.if
func.func @last(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf oge, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// So is that for an element which is not beyond.
// CHECK-LABEL: func.func @turned
// CHECK-NOT: scf.if
func.func @turned(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf olt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// How often there was a new extremum is no place.
// CHECK-LABEL: func.func @counted
// CHECK-NOT: scf.if
func.func @counted(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  %one = arith.constant 1 : i64
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %n = arith.addi %k, %one : i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// What is computed of the elements might be another value when it is computed again.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: scf.if
func.func @computed(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %s = arith.mulf %a, %a : f32
    %0 = arith.maximumf %s, %m : f32
    %c = arith.cmpf ogt, %s, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// Where flags say that there is no infinity, a piece cannot begin with one.
// CHECK-LABEL: func.func @flags
// CHECK-NOT: scf.if
func.func @flags(%x: memref<900x1300xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x1300xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m fastmath<ninf> : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// Columns are searched beside each other, by vectors already; a few elements are unrolled.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: scf.if
func.func @columns(%x: memref<1300x900xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (c, r)>, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<1300x900xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// CHECK-LABEL: func.func @few
// CHECK-NOT: scf.if
func.func @few(%x: memref<900x20xf32>, %v: memref<900xf32>, %p: memref<900xi64>) {
  linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : memref<900x20xf32>) outs(%v, %p : memref<900xf32>, memref<900xi64>) {
  ^bb0(%a: f32, %m: f32, %k: i64):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i64
    %0 = arith.maximumf %a, %m : f32
    %c = arith.cmpf ogt, %a, %m : f32
    %1 = arith.select %c, %n, %k : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}
