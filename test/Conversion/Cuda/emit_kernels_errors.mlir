// RUN: fastk-opt %s --split-input-file --fastk-emit-kernels --verify-diagnostics

// expected-error @+1 {{has no function with 'fastk.inputs': fastk-prepare-kernels makes one (required by 'fastk-prepare-kernels')}}
module {
  func.func @f(%x: memref<4xf32>) {
    return
  }
}

// -----

func.func @nothing(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{has no 'fastk.kernel': run fastk-choose-kernels, or write what its kernels shall be (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @form(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.kernel' is no dictionary: write {strategy = "points"}, and numbers (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = "points"} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @number(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'point_threads' in 'fastk.kernel' is no integer (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "points", point_threads = "32"}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @unknown(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.kernel' names no strategy that there is: docs/cuda.md lists them; it is 'warps' (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "warps"}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @other(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{the strategy 'turn' of 'fastk.kernel' does not take it (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "turn"}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @foreign(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'row_threads' in 'fastk.kernel' is nothing that 'vectors' can be told (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "vectors", row_threads = 32 : i64}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @range(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.vector_threads' = 2048 must be a multiple of 32 from 32 to 1024 (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "vectors", vector_threads = 2048 : i64}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

func.func @wide(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.vector_width' is wider than memory allows: 8 of at most 4 (required by 'fastk.kernel_choices')}}
  memref.copy %x, %y {fastk.kernel = {strategy = "vectors", vector_width = 8 : i64}} : memref<64xf32> to memref<64xf32>
  return
}

// -----

#id = affine_map<(i) -> (i)>
func.func @fold(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.kernel' says that the kernel of a contraction computes it, and none can (required by 'fastk.kernel_choices')}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) attrs = {fastk.kernel = {strategy = "fold"}} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(i) -> (i)>
// expected-error @+1 {{'point_threads' in 'fastk.kernel' is nothing that all kernels can be told (required by 'fastk.kernel_choices')}}
func.func @all(%x: memref<64xf32>, %y: memref<64xf32>) attributes {fastk.inputs = 1 : i64, fastk.kernel = {point_threads = 32 : i64}} {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) attrs = {fastk.kernel = {strategy = "points"}} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// Another kernel would leave out what this one was to compute.
#c2 = affine_map<(m, n) -> (m, n)>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @folded(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %z: memref<64x64xf32>) attributes {fastk.inputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#c2], iterator_types = ["parallel", "parallel"]} outs(%z : memref<64x64xf32>)
    attrs = {fastk.kernel = {strategy = "fold"}} {
  ^bb0(%o: f32):
    linalg.yield %zero : f32
  }
  // expected-error @+1 {{the strategy 'points' of 'fastk.kernel' does not take it (required by 'fastk.kernel_choices')}}
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : memref<64x64xf32>, memref<64x64xf32>) outs(%z : memref<64x64xf32>)
    attrs = {fastk.kernel = {strategy = "points"}} {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %0 = arith.mulf %u, %v : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
