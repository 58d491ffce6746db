// The same patterns with smaller sizes: dimensions that belong together still do, and small windows,
// strides, paddings and constants stay.

// RUN: fastk-opt %s --split-input-file --fastk-shrink-workloads --verify-diagnostics | FileCheck %s
// RUN: fastk-opt %s --split-input-file --fastk-shrink-workloads='iterations=16384 elements=8192' 2> /dev/null | FileCheck %s --check-prefix=TINY

// Small enough: as it is.
// CHECK-LABEL: func.func @small_0(%arg0: tensor<8x24xf32>, %arg1: tensor<24x16xf32>)
func.func @small(%a: tensor<8x24xf32>, %b: tensor<24x16xf32>) -> tensor<8x16xf32> {
  %r = fastk.workload "matmul" (%a, %b) : (tensor<8x24xf32>, tensor<24x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%x: tensor<8x24xf32>, %y: tensor<24x16xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
    %m = linalg.matmul ins(%x, %y : tensor<8x24xf32>, tensor<24x16xf32>) outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
    fastk.yield %m : tensor<8x16xf32>
  }
  return %r : tensor<8x16xf32>
}

// -----

// What is left of a multiple of 32 stays.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<128x104xf32>, %arg1: tensor<104x128xf32>) -> tensor<128x128xf32>
// TINY: func.func @small_0(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>) -> tensor<16x16xf32>
func.func @matmul(%a: tensor<4096x1000xf32>, %b: tensor<1000x4096xf32>) -> tensor<4096x4096xf32> {
  %r = fastk.workload "matmul" (%a, %b) : (tensor<4096x1000xf32>, tensor<1000x4096xf32>) -> tensor<4096x4096xf32> {
  ^bb0(%x: tensor<4096x1000xf32>, %y: tensor<1000x4096xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4096x4096xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %m = linalg.matmul ins(%x, %y : tensor<4096x1000xf32>, tensor<1000x4096xf32>) outs(%f : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    fastk.yield %m : tensor<4096x4096xf32>
  }
  return %r : tensor<4096x4096xf32>
}

// -----

// A convolution, padded, of stride 2 and dilation 3, and a pooling of what it gives.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<8x8x32x32xf32>, %arg1: tensor<8x8x3x3xf32>) -> tensor<8x8x8x8xf32>
// CHECK: tensor.pad %{{.*}} low[0, 0, 3, 3] high[0, 0, 3, 3]
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK-SAME: dilations = dense<3> {{.*}} strides = dense<2>
// CHECK-SAME: tensor<8x8x38x38xf32>, tensor<8x8x3x3xf32>) outs(%{{.*}} : tensor<8x8x16x16xf32>)
// CHECK: linalg.pooling_nchw_max
// TINY: func.func @small_0(%arg0: tensor<2x2x5x5xf32>
func.func @conv(%image: tensor<32x64x224x224xf32>, %weight: tensor<128x64x3x3xf32>) -> tensor<32x128x56x56xf32> {
  %r = fastk.workload "conv" (%image, %weight) : (tensor<32x64x224x224xf32>, tensor<128x64x3x3xf32>) -> tensor<32x128x56x56xf32> {
  ^bb0(%i: tensor<32x64x224x224xf32>, %w: tensor<128x64x3x3xf32>):
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %i low[0, 0, 3, 3] high[0, 0, 3, 3] {
    ^bb1(%d0: index, %d1: index, %d2: index, %d3: index):
      tensor.yield %zero : f32
    } : tensor<32x64x224x224xf32> to tensor<32x64x230x230xf32>
    %e = tensor.empty() : tensor<32x128x112x112xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<32x128x112x112xf32>) -> tensor<32x128x112x112xf32>
    %c = linalg.conv_2d_nchw_fchw {dilations = dense<3> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
      ins(%p, %w : tensor<32x64x230x230xf32>, tensor<128x64x3x3xf32>) outs(%f : tensor<32x128x112x112xf32>) -> tensor<32x128x112x112xf32>
    %window = tensor.empty() : tensor<2x2xf32>
    %e2 = tensor.empty() : tensor<32x128x56x56xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x128x56x56xf32>) -> tensor<32x128x56x56xf32>
    %m = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>}
      ins(%c, %window : tensor<32x128x112x112xf32>, tensor<2x2xf32>) outs(%f2 : tensor<32x128x56x56xf32>) -> tensor<32x128x56x56xf32>
    fastk.yield %m : tensor<32x128x56x56xf32>
  }
  return %r : tensor<32x128x56x56xf32>
}

// -----

// The maxima of rows, and what they are taken off.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<512x512xf32>) -> tensor<512x512xf32>
func.func @rows(%a: tensor<4096x65536xf32>) -> tensor<4096x65536xf32> {
  %r = fastk.workload "softmax" (%a) : (tensor<4096x65536xf32>) -> tensor<4096x65536xf32> {
  ^bb0(%x: tensor<4096x65536xf32>):
    %least = arith.constant 0xFF800000 : f32
    %v = tensor.empty() : tensor<4096xf32>
    %f = linalg.fill ins(%least : f32) outs(%v : tensor<4096xf32>) -> tensor<4096xf32>
    %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                         iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x65536xf32>) outs(%f : tensor<4096xf32>) {
    ^bb1(%p: f32, %o: f32):
      %t = arith.maximumf %p, %o : f32
      linalg.yield %t : f32
    } -> tensor<4096xf32>
    %e = tensor.empty() : tensor<4096x65536xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<4096x65536xf32>, tensor<4096xf32>) outs(%e : tensor<4096x65536xf32>) {
    ^bb1(%p: f32, %q: f32, %o: f32):
      %d = arith.subf %p, %q : f32
      %t = math.exp %d : f32
      linalg.yield %t : f32
    } -> tensor<4096x65536xf32>
    fastk.yield %y : tensor<4096x65536xf32>
  }
  return %r : tensor<4096x65536xf32>
}

// -----

// A concatenation stays the sum of its parts; what joins it has its size.
// CHECK-LABEL: func.func @small_0(
// CHECK: tensor.concat dim(1) %{{.*}}, %{{.*}} : (tensor<[[N:[0-9]+]]x[[A:[0-9]+]]xf32>, tensor<[[N]]x[[B:[0-9]+]]xf32>)
func.func @concat(%a: tensor<4096x512xf32>, %b: tensor<4096x320xf32>, %c: tensor<832xf32>) -> tensor<4096x832xf32> {
  %r = fastk.workload "concat" (%a, %b, %c) : (tensor<4096x512xf32>, tensor<4096x320xf32>, tensor<832xf32>) -> tensor<4096x832xf32> {
  ^bb0(%x: tensor<4096x512xf32>, %y: tensor<4096x320xf32>, %z: tensor<832xf32>):
    %j = tensor.concat dim(1) %x, %y : (tensor<4096x512xf32>, tensor<4096x320xf32>) -> tensor<4096x832xf32>
    %e = tensor.empty() : tensor<4096x832xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%j, %z : tensor<4096x832xf32>, tensor<832xf32>) outs(%e : tensor<4096x832xf32>) {
    ^bb1(%p: f32, %q: f32, %o: f32):
      %t = arith.addf %p, %q : f32
      linalg.yield %t : f32
    } -> tensor<4096x832xf32>
    fastk.yield %s : tensor<4096x832xf32>
  }
  return %r : tensor<4096x832xf32>
}

// -----

// Groups of channels: what a reshape has taken apart is still its product.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<8x64x64xf32>) -> tensor<8x8xf32>
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2], [3, 4]] output_shape [8, 8, 8, 8, 8] : tensor<8x64x64xf32>
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1], [2, 3, 4]] : tensor<8x8x8x8x8xf32> into tensor<8x8x512xf32>
func.func @groups(%a: tensor<64x512x3136xf32>) -> tensor<64x32xf32> {
  %r = fastk.workload "groups" (%a) : (tensor<64x512x3136xf32>) -> tensor<64x32xf32> {
  ^bb0(%x: tensor<64x512x3136xf32>):
    %zero = arith.constant 0.0 : f32
    %y = tensor.expand_shape %x [[0], [1, 2], [3, 4]] output_shape [64, 32, 16, 56, 56] : tensor<64x512x3136xf32> into tensor<64x32x16x56x56xf32>
    %z = tensor.collapse_shape %y [[0], [1], [2, 3, 4]] : tensor<64x32x16x56x56xf32> into tensor<64x32x50176xf32>
    %e = tensor.empty() : tensor<64x32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
    %s = linalg.reduce ins(%z : tensor<64x32x50176xf32>) outs(%f : tensor<64x32xf32>) dimensions = [2]
      (%in: f32, %out: f32) {
        %t = arith.addf %in, %out : f32
        linalg.yield %t : f32
      }
    fastk.yield %s : tensor<64x32xf32>
  }
  return %r : tensor<64x32xf32>
}

// -----

// Halves of what they are halves of; a slice of one element keeps the dimension.
// CHECK-LABEL: func.func @small_0(
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [[[N:[0-9]+]], 1, [[H:[0-9]+]]] [1, 1, 1] : tensor<[[N]]x3x{{[0-9]+}}xf32> to tensor<[[N]]x[[H]]xf32>
// CHECK: tensor.extract_slice %{{.*}}[0, 2, 768] [[[N]], 1, [[H]]] [1, 1, 1] : tensor<[[N]]x3x{{[0-9]+}}xf32> to tensor<[[N]]x[[H]]xf32>
func.func @slices(%a: tensor<8192x3x1536xf32>) -> tensor<8192x768xf32> {
  %r = fastk.workload "slices" (%a) : (tensor<8192x3x1536xf32>) -> tensor<8192x768xf32> {
  ^bb0(%x: tensor<8192x3x1536xf32>):
    %p = tensor.extract_slice %x[0, 0, 0] [8192, 1, 768] [1, 1, 1] : tensor<8192x3x1536xf32> to tensor<8192x768xf32>
    %q = tensor.extract_slice %x[0, 2, 768] [8192, 1, 768] [1, 1, 1] : tensor<8192x3x1536xf32> to tensor<8192x768xf32>
    %e = tensor.empty() : tensor<8192x768xf32>
    %s = linalg.add ins(%p, %q : tensor<8192x768xf32>, tensor<8192x768xf32>) outs(%e : tensor<8192x768xf32>) -> tensor<8192x768xf32>
    fastk.yield %s : tensor<8192x768xf32>
  }
  return %r : tensor<8192x768xf32>
}

// -----

// A transposed convolution: what it is of has gaps, by slices that stay.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<{{[0-9]+}}x32xf32>
func.func @gaps(%a: tensor<65536x32xf32>) -> tensor<65536x65xf32> {
  %r = fastk.workload "gaps" (%a) : (tensor<65536x32xf32>) -> tensor<65536x65xf32> {
  ^bb0(%x: tensor<65536x32xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<65536x65xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<65536x65xf32>) -> tensor<65536x65xf32>
    // CHECK: tensor.insert_slice %{{.*}}[0, 1] [[[R:[0-9]+]], 32] [1, 2] : tensor<[[R]]x32xf32> into tensor<[[R]]x65xf32>
    %s = tensor.insert_slice %x into %f[0, 1] [65536, 32] [1, 2] : tensor<65536x32xf32> into tensor<65536x65xf32>
    fastk.yield %s : tensor<65536x65xf32>
  }
  return %r : tensor<65536x65xf32>
}

// -----

// An op that nothing is known of keeps all its sizes.
// CHECK-NOT: func.func
func.func @unknown(%a: tensor<4096x65536xf32>) -> tensor<4096x65536xf32> {
  // expected-remark@+1 {{no smaller sizes are known for this workload}}
  %r = fastk.workload "softmax" (%a) : (tensor<4096x65536xf32>) -> tensor<4096x65536xf32> {
  ^bb0(%x: tensor<4096x65536xf32>):
    %e = tensor.empty() : tensor<4096x65536xf32>
    %s = linalg.softmax dimension(1) ins(%x : tensor<4096x65536xf32>) outs(%e : tensor<4096x65536xf32>) -> tensor<4096x65536xf32>
    fastk.yield %s : tensor<4096x65536xf32>
  }
  return %r : tensor<4096x65536xf32>
}

// -----

// A constant keeps the shape that it has, and what is as large as it.
// CHECK-LABEL: func.func @small_0(
// CHECK-SAME: %arg0: tensor<{{[0-9]+}}x4xf32>
func.func @table(%a: tensor<1048576x4xf32>) -> tensor<1048576x4xf32> {
  %r = fastk.workload "table" (%a) : (tensor<1048576x4xf32>) -> tensor<1048576x4xf32> {
  ^bb0(%x: tensor<1048576x4xf32>):
    %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %e = tensor.empty() : tensor<1048576x4xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
      ins(%x, %c : tensor<1048576x4xf32>, tensor<4xf32>) outs(%e : tensor<1048576x4xf32>) {
    ^bb1(%p: f32, %q: f32, %o: f32):
      %t = arith.mulf %p, %q : f32
      linalg.yield %t : f32
    } -> tensor<1048576x4xf32>
    fastk.yield %s : tensor<1048576x4xf32>
  }
  return %r : tensor<1048576x4xf32>
}
