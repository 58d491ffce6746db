// RUN: fastk-opt %s -split-input-file -verify-diagnostics -o /dev/null

// A cuda program without a plan.
// expected-error @+1 {{'fastk.lowering' op language 'cuda' needs a plan that launches it (required by 'fastk.plan')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
}

// -----

// A C program with one.
// expected-error @+1 {{'fastk.lowering' op language 'c' has no plan (required by 'fastk.plan')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<c>, target = "host", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}

// -----

// A target that has no plans.
// expected-error @+1 {{'fastk.lowering' op has a plan, but target 'host' is not 'cuda:sm_80' or later (required by 'fastk.plan')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "host", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}

// -----

// Buffers that are not the operands and results.
// expected-error @+1 {{'fastk.lowering' op plan takes ('memref<8xf32>') but operands and results as memrefs are ('memref<8xf32>', 'memref<8xf32>') (required by 'fastk.lowering')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>):
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}

// -----

// A limit of the device; the other problems are notes.
// expected-error @+2 {{'fastk.lowering' op plan: $.steps[0].block: 2048x1x1 is 2048 threads (a block has at most 1024 threads on this device) (required by 'fastk.plan')}}
// expected-note @+1 {{also: $.steps[0].block: 2048 threads in x (a block has at most 1024 threads in x)}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  fastk.launch "k" grid [1, 1, 1] block [2048, 1, 1] (%in0) : memref<8xf32>
}

// -----

// Clusters before Hopper.
// expected-error @+1 {{'fastk.lowering' op plan: $.steps[0].cluster: this device is sm_80 (clusters need sm_90 or later) (required by 'fastk.plan')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_80", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  fastk.launch "k" grid [2, 1, 1] block [1, 1, 1] cluster [2, 1, 1] (%in0) : memref<8xf32>
}

// -----

// A tensor map that leaves its buffer.
// expected-error @+1 {{'fastk.lowering' op plan: $.tensor_maps[0].dims: reach to byte 64 of a buffer of 32 (a tensor map stays within its buffer) (required by 'fastk.plan')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  %m = fastk.tensor_map %in0 {element_type = "f32", dims = array<i64: 16>, box = array<i64: 8>} : memref<8xf32>
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%m) : !fastk.tensor_map
}

// -----

// A word that no tensor map knows.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.tensor_map' op swizzle is "96B", which no tensor map knows (required by 'fastk.tensor_map')}}
  %m = fastk.tensor_map %in0 {element_type = "f32", dims = array<i64: 8>, box = array<i64: 8>, swizzle = "96B"} : memref<8xf32>
}

// -----

// An extent of zero.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.launch' op grid, block and cluster are three positive extents each (required by 'fastk.launch')}}
  fastk.launch "k" grid [0, 1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}

// -----

// Two extents.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.launch' op grid, block and cluster are three positive extents each (required by 'fastk.launch')}}
  fastk.launch "k" grid [1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}

// -----

// Negative shared memory.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.launch' op shared memory of -4 bytes is negative (required by 'fastk.launch')}}
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] shared -4 (%in0) : memref<8xf32>
}

// -----

// Offsets for another number of arguments.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.launch' op offsets are one number of bytes, 0 or more, for every argument (required by 'fastk.launch')}}
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%in0) {offsets = array<i64: 0, 4>} : memref<8xf32>
}

// -----

// An offset into a number.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  %c = arith.constant 1 : i32
  // expected-error @+1 {{'fastk.launch' op gives an offset to an argument of type 'i32'; only buffers have one (required by 'fastk.launch')}}
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%c) {offsets = array<i64: 4>} : i32
}

// -----

// A constant of a type that no plan passes.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'arith.constant' op in a plan is i32, i64, f32 or f64 (required by 'fastk.lowering')}}
  %c = arith.constant 1 : i8
}

// -----

// Host code has no place in a plan.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'memref.copy' op is no plan op (required by 'fastk.lowering')}}
  memref.copy %in0, %out0 : memref<8xf32> to memref<8xf32>
}

// -----

// A memset to more than a byte.
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  // expected-error @+1 {{'fastk.memset' op sets a positive number of bytes, from an offset of 0 or more, to a value of 0 to 255 (required by 'fastk.memset')}}
  fastk.memset %out0 {bytes = 4 : i64, value = 256 : i64} : memref<8xf32>
}

// -----

// Plan ops live in plans, and in functions that launch the kernels beside them.
func.func @inside() {
  %0 = fastk.workspace : memref<8xi8>
  return
}

// -----

// expected-error @+1 {{'fastk.workspace' op expects parent op to be one of 'fastk.lowering, func.func'}}
%0 = fastk.workspace : memref<8xi8>

// -----

// A plan that was edited after it was sealed.
// expected-error @+1 {{'fastk.lowering' op was sealed with another key, target, precision, language, workspace, digest or plan: one of them was edited (required by 'fastk.seal')}}
fastk.lowering @w_b8b3dcb2ff0131a9 attributes {format_version = 1 : i64, key = "b8b3dcb2ff0131a9aa3b2aa3ae86f679814c34d8651175c3fe11665475b0cd32", language = #fastk.language<cuda>, target = "cuda:sm_90a", file = "kernel.cu", digest = "d", seal = "0"} pattern {
^bb0(%a: tensor<8xf32>):
  fastk.yield %a : tensor<8xf32>
} plan {
^bb0(%in0: memref<8xf32>, %out0: memref<8xf32>):
  fastk.launch "k" grid [1, 1, 1] block [1, 1, 1] (%in0) : memref<8xf32>
}
