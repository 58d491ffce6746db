// RUN: fastk-opt %s --split-input-file --fastk-choose-kernels --verify-diagnostics

// expected-error @+1 {{has no function with 'fastk.inputs': fastk-prepare-kernels makes one (required by 'fastk-prepare-kernels')}}
module {
  func.func @f(%x: memref<4xf32>) {
    return
  }
}

// -----

// A number that nothing in the function can be told.
// expected-error @+1 {{'fastk.row_threads' is read by none of its kernels (vectors) (required by 'fastk.kernel_choices')}}
func.func @unread(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64, fastk.row_threads = 64 : i64} {
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return
}

// -----

func.func @strange(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1.0 : f32
  // expected-error @+1 {{'memref.atomic_rmw' op has no kernel: the default lowering for GPUs takes structured ops on static shapes, and loops that are mapped to blocks (required by 'fastk.device_kernels')}}
  %0 = memref.atomic_rmw addf %c1, %x[%c0] : (f32, memref<8xf32>) -> f32
  return
}

// -----

// What says that it is of rows, and is not.
func.func @call(%x: memref<8xf32>, %y: memref<8xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{'fastk.call' op has no kernel}}
  fastk.call @rows(%x) outs(%y) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
func.func private @rows(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fastk.rows = 2 : i64} {
  return %x : tensor<8xf32>
}

// -----

// The types of a group are those of its call.
func.func @types(%x: memref<8xf32>, %y: memref<4xf32>) attributes {fastk.inputs = 1 : i64} {
  // expected-error @+1 {{passes ('memref<8xf32>') -> ('memref<4xf32>') to a lowering of type '(tensor<8xf32>) -> tensor<8xf32>' (required by 'fastk.call')}}
  fastk.call @rows(%x) outs(%y) : (memref<8xf32>, memref<4xf32>) -> ()
  return
}
// expected-note @+1 {{lowering defined here}}
func.func private @rows(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fastk.columns = 4 : i64, fastk.rows = 2 : i64} {
  return %x : tensor<8xf32>
}
