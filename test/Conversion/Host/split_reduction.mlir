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

// A piece begins with -0, which changes nothing, not even a sum of negative zeros.
// CHECK-LABEL: func.func @negative_zeros
// CHECK: memref.alloc
// CHECK: arith.constant -0.000000e+00 : f32
func.func @negative_zeros(%x: memref<1048576xf32>, %r: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<1048576xf32>) outs(%r : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// What would begin with NaN may not, where its flag says that there is none.
// CHECK-LABEL: func.func @no_numbers
// CHECK-NOT: memref.alloc
func.func @no_numbers(%x: memref<1048576xf32>, %r: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<1048576xf32>) outs(%r : memref<f32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.maxnumf %s, %a fastmath<nnan> : f32
    linalg.yield %0 : f32
  }
  return
}

// Nor may a piece overflow, where the whole does not.
// CHECK-LABEL: func.func @no_overflow
// CHECK-NOT: memref.alloc
func.func @no_overflow(%x: memref<1048576xi32>, %r: memref<i32>) {
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<1048576xi32>) outs(%r : memref<i32>) {
  ^bb0(%a: i32, %s: i32):
    %0 = arith.addi %s, %a overflow<nsw> : i32
    linalg.yield %0 : i32
  }
  return
}

// An index has no width that a least value could have.
// CHECK-LABEL: func.func @indices
// CHECK-NOT: memref.alloc
func.func @indices(%x: memref<1048576xindex>, %r: memref<index>) {
  linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<1048576xindex>) outs(%r : memref<index>) {
  ^bb0(%a: index, %s: index):
    %0 = arith.maxsi %s, %a : index
    linalg.yield %0 : index
  }
  return
}

// Results whose size shows at run time have no pieces.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: memref.alloc
func.func @dynamic(%x: memref<4x1048576xf32>, %r: memref<?xf32>) {
  linalg.generic {indexing_maps = [#all, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x1048576xf32>) outs(%r : memref<?xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Nor have those that are so large that the pieces of columns are as good.
// CHECK-LABEL: func.func @wide_results
// CHECK-NOT: memref.alloc
// CHECK: scf.parallel
func.func @wide_results(%x: memref<4096x1048576xf32>, %sum: memref<1048576xf32>) {
  linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4096x1048576xf32>) outs(%sum : memref<1048576xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Of what has no element there is nothing to deal out.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: scf.parallel
// CHECK: return
func.func @empty(%x: memref<0x64x64xf32>, %sum: memref<0x64xf32>) {
  linalg.generic {indexing_maps = [#pixels, affine_map<(n, h, w) -> (n, w)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%x : memref<0x64x64xf32>) outs(%sum : memref<0x64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  return
}
