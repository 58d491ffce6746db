// Which reductions of buffers are cut into pieces, and into how many.
// RUN: fastk-opt %s --fastk-linalg-to-loops | FileCheck %s
// RUN: fastk-opt %s --pass-pipeline='builtin.module(fastk-linalg-to-loops{relaxed=false})' | FileCheck %s --check-prefix=WHOLE
// RUN: fastk-opt %s --pass-pipeline='builtin.module(fastk-linalg-to-loops{threads=false})' | FileCheck %s --check-prefix=WHOLE
// Of columns nothing is cut but what lies beside each other.
// WHOLE-NOT: memref.alloc

#all = affine_map<(r, c) -> (r, c)>
#none = affine_map<(r, c) -> ()>
#column = affine_map<(r, c) -> (c)>

// All that lies beside each other is one row; 60 pieces leave none over.
// CHECK-LABEL: func.func @all
// CHECK: %[[PARTIAL:.*]] = memref.alloc() : memref<60xf32>
// CHECK: memref.expand_shape {{.*}} output_shape [60, 19500]
// CHECK: scf.parallel
// CHECK: memref.store {{.*}} %[[PARTIAL]]
// CHECK: scf.for
// CHECK: memref.load %[[PARTIAL]]
func.func @all(%x: memref<1300x900xf32>, %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<1300x900xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows of columns that are apart; 52 pieces of 1301 leave one over, as few as others.
// CHECK-LABEL: func.func @rest
// CHECK: memref.alloc() : memref<52x190xf32>
// CHECK: memref.subview {{.*}}[0, 0] [1300, 190] [1, 1]
// CHECK: memref.expand_shape {{.*}} output_shape [52, 25, 190]
// CHECK: memref.subview {{.*}}[1300, 0] [1, 190] [1, 1]
func.func @rest(%x: memref<1301x190xf32>, %sum: memref<190xf32>) {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<1301x190xf32>) outs(%sum : memref<190xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Columns that lie beside each other are pieces of threads only where the rows are too few.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: memref.alloc
// CHECK: %[[PIECES:.*]] = arith.constant 8 : index
// CHECK: scf.parallel {{.*}} to (%[[PIECES]])
func.func @wide(%x: memref<70x8192xf32>, %sum: memref<8192xf32>) {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<70x8192xf32>) outs(%sum : memref<8192xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A result that is more than a sum is not cut: what it would begin with is not known.
// CHECK-LABEL: func.func @no_sum
// CHECK-NOT: memref.alloc
func.func @no_sum(%x: memref<1300x900xf32>, %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<1300x900xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.subf %a, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// Nor is one that asks for the number of the row.
// CHECK-LABEL: func.func @numbered
// CHECK-NOT: memref.alloc
func.func @numbered(%x: memref<1300x900xi32>, %sum: memref<i32>) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<1300x900xi32>) outs(%sum : memref<i32>) {
  ^bb0(%a: i32, %s: i32):
    %r = linalg.index 0 : index
    %i = arith.index_cast %r : index to i32
    %p = arith.muli %a, %i : i32
    %0 = arith.addi %s, %p : i32
    linalg.yield %0 : i32
  }
  return
}

// What is small stays whole.
// CHECK-LABEL: func.func @small
// CHECK-NOT: memref.alloc
func.func @small(%x: memref<300x100xf32>, %sum: memref<f32>) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<300x100xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// What lies beside each other is reduced by one loop, which is long enough for vectors.
#pixels = affine_map<(n, h, w) -> (n, h, w)>
#images = affine_map<(n, h, w) -> (n)>
// CHECK-LABEL: func.func @pixels
// CHECK: memref.reinterpret_cast {{.*}} sizes: [40, 196], strides: [196, 1]
// CHECK: scf.parallel
// CHECK: scf.for {{.*}} to %[[ALL:.*]] step
// CHECK-NOT: scf.for
// CHECK: return
func.func @pixels(%x: memref<40x14x14xf32>, %sum: memref<40xf32>) {
  linalg.generic {indexing_maps = [#pixels, #images], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : memref<40x14x14xf32>) outs(%sum : memref<40xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}
