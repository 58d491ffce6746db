// RUN: fastk-opt %s --fastk-channels-last --split-input-file | FileCheck %s
// RUN: fastk-opt %s --fastk-channels-last=float32=true --split-input-file \
// RUN:   | FileCheck %s --check-prefix=WIDE

// What one convolution hands to another moves with the elementwise op and the
// pad between them; arguments and results stay. The fill that both convolutions
// begin with is made anew for the one that moves.
// CHECK-DAG: #[[$X:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
// CHECK-DAG: #[[$LAST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2, d3, d1)>
// CHECK-DAG: #[[$FIRST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$PADDED:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d5, d3 + d6, d4)>
// CHECK-DAG: #[[$OF_PIXEL:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
// CHECK-DAG: #[[$OF_CHANNEL:.+]] = affine_map<(d0, d1, d2, d3) -> (d1)>
#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#channel = affine_map<(n, c, y, x) -> (c)>
// CHECK-LABEL: func @two
// CHECK-SAME: (%[[ARG:.+]]: tensor<2x16x6x5xf16>, %{{.+}}: tensor<32x16x1x1xf16>, %{{.+}}: tensor<16x32x3x3xf16>, %{{.+}}: tensor<32xf16>) -> tensor<2x16x6x5xf16>
// CHECK: %[[EMPTY:.+]] = tensor.empty() : tensor<2x6x5x32xf16>
// CHECK: %[[START:.+]] = linalg.fill ins(%{{.+}} : f16) outs(%[[EMPTY]] : tensor<2x6x5x32xf16>)
// CHECK: %[[CONV:.+]] = linalg.generic {indexing_maps = [#[[$X]], #{{.+}}, #[[$LAST]]]
// CHECK-SAME: ins(%[[ARG]], %{{.+}} : tensor<2x16x6x5xf16>, tensor<32x16x1x1xf16>) outs(%[[START]] : tensor<2x6x5x32xf16>)
// CHECK: %[[BIASED:.+]] = linalg.generic {indexing_maps = [#[[$OF_PIXEL]], #[[$OF_CHANNEL]], #[[$OF_PIXEL]]]
// CHECK-SAME: ins(%[[CONV]], %{{.+}} : tensor<2x6x5x32xf16>, tensor<32xf16>)
// CHECK: %[[PAD:.+]] = tensor.pad %[[BIASED]] low[0, 1, 2, 0] high[0, 1, 0, 0]
// CHECK: tensor<2x6x5x32xf16> to tensor<2x8x7x32xf16>
// CHECK: %[[END:.+]] = linalg.generic {indexing_maps = [#[[$PADDED]], #{{.+}}, #[[$FIRST]]]
// CHECK-SAME: ins(%[[PAD]], %{{.+}} : tensor<2x8x7x32xf16>, tensor<16x32x3x3xf16>) outs(%{{.+}} : tensor<2x16x6x5xf16>)
// CHECK: return %[[END]] : tensor<2x16x6x5xf16>
func.func @two(%x: tensor<2x16x6x5xf16>, %v: tensor<32x16x1x1xf16>,
    %w: tensor<16x32x3x3xf16>, %bias: tensor<32xf16>) -> tensor<2x16x6x5xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2x32x6x5xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<2x32x6x5xf16>) -> tensor<2x32x6x5xf16>
  %0 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<2x16x6x5xf16>, tensor<32x16x1x1xf16>)
      outs(%start : tensor<2x32x6x5xf16>) -> tensor<2x32x6x5xf16>
  %1 = linalg.generic {indexing_maps = [#id, #channel, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %bias : tensor<2x32x6x5xf16>, tensor<32xf16>) outs(%e : tensor<2x32x6x5xf16>) {
  ^bb0(%a: f16, %b: f16, %o: f16):
    %sum = arith.addf %a, %b : f16
    linalg.yield %sum : f16
  } -> tensor<2x32x6x5xf16>
  %2 = tensor.pad %1 low[0, 0, 1, 2] high[0, 0, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f16
  } : tensor<2x32x6x5xf16> to tensor<2x32x8x7xf16>
  %e2 = tensor.empty() : tensor<2x16x6x5xf16>
  %start2 = linalg.fill ins(%zero : f16) outs(%e2 : tensor<2x16x6x5xf16>) -> tensor<2x16x6x5xf16>
  %3 = linalg.conv_2d_nchw_fchw ins(%2, %w : tensor<2x32x8x7xf16>, tensor<16x32x3x3xf16>)
      outs(%start2 : tensor<2x16x6x5xf16>) -> tensor<2x16x6x5xf16>
  return %3 : tensor<2x16x6x5xf16>
}

// -----

// A concatenation moves with all that it is made of; a slice does, too. What is
// reshaped stays, and the pooling before it reads what has moved.
// CHECK-LABEL: func @branches
// CHECK: %[[A:.+]] = linalg.generic
// CHECK: } -> tensor<1x4x4x16xbf16>
// CHECK: %[[BOTH:.+]] = tensor.concat dim(3) %[[A]], %[[A]] : (tensor<1x4x4x16xbf16>, tensor<1x4x4x16xbf16>) -> tensor<1x4x4x32xbf16>
// CHECK: %[[PART:.+]] = tensor.extract_slice %[[BOTH]][0, 0, 0, 8] [1, 4, 4, 16] [1, 1, 1, 1]
// CHECK: %[[B:.+]] = linalg.generic {{.+}} ins(%[[PART]],
// CHECK: } -> tensor<1x4x4x16xbf16>
// CHECK: %[[POOL:.+]] = linalg.generic {{.+}} ins(%[[B]],
// CHECK: } -> tensor<1x16x2x2xbf16>
// CHECK: tensor.collapse_shape %[[POOL]]
func.func @branches(%x: tensor<1x16x4x4xbf16>, %w: tensor<16x16x1x1xbf16>) -> tensor<1x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %least = arith.constant 0xFF80 : bf16
  %e = tensor.empty() : tensor<1x16x4x4xbf16>
  %start = linalg.fill ins(%zero : bf16) outs(%e : tensor<1x16x4x4xbf16>) -> tensor<1x16x4x4xbf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xbf16>, tensor<16x16x1x1xbf16>)
      outs(%start : tensor<1x16x4x4xbf16>) -> tensor<1x16x4x4xbf16>
  %both = tensor.concat dim(1) %a, %a : (tensor<1x16x4x4xbf16>, tensor<1x16x4x4xbf16>) -> tensor<1x32x4x4xbf16>
  %part = tensor.extract_slice %both[0, 8, 0, 0] [1, 16, 4, 4] [1, 1, 1, 1]
      : tensor<1x32x4x4xbf16> to tensor<1x16x4x4xbf16>
  %b = linalg.conv_2d_nchw_fchw ins(%part, %w : tensor<1x16x4x4xbf16>, tensor<16x16x1x1xbf16>)
      outs(%start : tensor<1x16x4x4xbf16>) -> tensor<1x16x4x4xbf16>
  %window = tensor.empty() : tensor<2x2xbf16>
  %e2 = tensor.empty() : tensor<1x16x2x2xbf16>
  %start2 = linalg.fill ins(%least : bf16) outs(%e2 : tensor<1x16x2x2xbf16>) -> tensor<1x16x2x2xbf16>
  %pool = linalg.pooling_nchw_max {strides = dense<2> : vector<2xi64>}
      ins(%b, %window : tensor<1x16x4x4xbf16>, tensor<2x2xbf16>)
      outs(%start2 : tensor<1x16x2x2xbf16>) -> tensor<1x16x2x2xbf16>
  %flat = tensor.collapse_shape %pool [[0], [1, 2, 3]] : tensor<1x16x2x2xbf16> into tensor<1x64xbf16>
  return %flat : tensor<1x64xbf16>
}

// -----

// Slices that are written move with what they are written into.
// CHECK-LABEL: func @inserted
// CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 0, 16] [1, 4, 4, 16] [1, 1, 1, 1] : tensor<1x4x4x16xf16> into tensor<1x4x4x32xf16>
func.func @inserted(%x: tensor<1x16x4x4xf16>, %v: tensor<16x16x1x1xf16>, %w: tensor<16x32x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %wide = tensor.empty() : tensor<1x32x4x4xf16>
  %zeros = linalg.fill ins(%zero : f16) outs(%wide : tensor<1x32x4x4xf16>) -> tensor<1x32x4x4xf16>
  %half = tensor.insert_slice %a into %zeros[0, 16, 0, 0] [1, 16, 4, 4] [1, 1, 1, 1]
      : tensor<1x16x4x4xf16> into tensor<1x32x4x4xf16>
  %b = linalg.conv_2d_nchw_fchw ins(%half, %w : tensor<1x32x4x4xf16>, tensor<16x32x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %b : tensor<1x16x4x4xf16>
}

// -----

// A single convolution hands nothing on, and a depthwise one between two keeps
// all where it is.
// CHECK-LABEL: func @single
// CHECK: linalg.conv_2d_nchw_fchw
func.func @single(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %negated = linalg.negf ins(%a : tensor<1x16x4x4xf16>) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %negated : tensor<1x16x4x4xf16>
}

// CHECK-LABEL: func @depthwise
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK: linalg.depthwise_conv_2d_nchw_chw
// CHECK: linalg.conv_2d_nchw_fchw
func.func @depthwise(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>, %d: tensor<16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = linalg.depthwise_conv_2d_nchw_chw ins(%a, %d : tensor<1x16x4x4xf16>, tensor<16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %c = linalg.conv_2d_nchw_fchw ins(%b, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %c : tensor<1x16x4x4xf16>
}

// -----

// Of f32, where it is asked for.
// CHECK-LABEL: func @wide
// CHECK: linalg.conv_2d_nchw_fchw
// WIDE-LABEL: func @wide
// WIDE: -> tensor<1x4x4x16xf32>
func.func @wide(%x: tensor<1x16x4x4xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<1x16x4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x4x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>)
      outs(%start : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  %b = linalg.conv_2d_nchw_fchw ins(%a, %w : tensor<1x16x4x4xf32>, tensor<16x16x1x1xf32>)
      outs(%start : tensor<1x16x4x4xf32>) -> tensor<1x16x4x4xf32>
  return %b : tensor<1x16x4x4xf32>
}

// -----

// What is made anew for a convolution's init is made anew for other ops, too:
// zeros that are concatenated, padded, written and cut.
// CHECK-LABEL: func @fresh
// CHECK: tensor.concat dim(3) %{{.+}}, %{{.+}} : (tensor<1x4x4x16xf16>, tensor<1x4x4x16xf16>) -> tensor<1x4x4x32xf16>
// CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 0, 0] [1, 4, 4, 16] [1, 1, 1, 1] : tensor<1x4x4x16xf16> into tensor<1x4x4x32xf16>
// CHECK: tensor.pad %{{.+}} low[0, 1, 1, 0] high[0, 1, 1, 0]
// CHECK: tensor<1x2x2x32xf16> to tensor<1x4x4x32xf16>
// CHECK: tensor.extract_slice %{{.+}}[0, 0, 0, 0] [1, 4, 4, 32] [1, 1, 1, 1] : tensor<1x5x5x32xf16> to tensor<1x4x4x32xf16>
#id4 = affine_map<(n, c, y, x) -> (n, c, y, x)>
func.func @fresh(%x: tensor<1x16x4x4xf16>, %v: tensor<16x16x1x1xf16>, %w: tensor<16x32x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %both = tensor.concat dim(1) %a, %start : (tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) -> tensor<1x32x4x4xf16>
  %written = tensor.insert_slice %start into %both[0, 0, 0, 0] [1, 16, 4, 4] [1, 1, 1, 1] : tensor<1x16x4x4xf16> into tensor<1x32x4x4xf16>
  %e2 = tensor.empty() : tensor<1x32x2x2xf16>
  %small = linalg.fill ins(%zero : f16) outs(%e2 : tensor<1x32x2x2xf16>) -> tensor<1x32x2x2xf16>
  %padded = tensor.pad %small low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f16
  } : tensor<1x32x2x2xf16> to tensor<1x32x4x4xf16>
  %e3 = tensor.empty() : tensor<1x32x5x5xf16>
  %large = linalg.fill ins(%zero : f16) outs(%e3 : tensor<1x32x5x5xf16>) -> tensor<1x32x5x5xf16>
  %cut = tensor.extract_slice %large[0, 0, 0, 0] [1, 32, 4, 4] [1, 1, 1, 1] : tensor<1x32x5x5xf16> to tensor<1x32x4x4xf16>
  %e4 = tensor.empty() : tensor<1x32x4x4xf16>
  %sum = linalg.generic {indexing_maps = [#id4, #id4, #id4, #id4],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%written, %padded, %cut : tensor<1x32x4x4xf16>, tensor<1x32x4x4xf16>, tensor<1x32x4x4xf16>)
      outs(%e4 : tensor<1x32x4x4xf16>) {
  ^bb0(%p: f16, %q: f16, %r: f16, %o: f16):
    %pq = arith.addf %p, %q : f16
    %pqr = arith.addf %pq, %r : f16
    linalg.yield %pqr : f16
  } -> tensor<1x32x4x4xf16>
  %b = linalg.conv_2d_nchw_fchw ins(%sum, %w : tensor<1x32x4x4xf16>, tensor<16x32x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %b : tensor<1x16x4x4xf16>
}

// -----

// Weights that are computed stay, what is transposed becomes another tensor,
// and an op that writes into what has moved has its type.
// CHECK-LABEL: func @neighbours
// CHECK: linalg.negf ins(%{{.+}} : tensor<16x16x3x3xf16>)
// CHECK: %[[MOVED:.+]] = linalg.generic {{.+}} ins(%{{.+}} : tensor<1x4x4x16xf16>) outs(%{{.+}} : tensor<1x4x4x16xf16>)
// CHECK: linalg.generic {{.+}} ins(%[[MOVED]], %{{.+}} : tensor<1x4x4x16xf16>, tensor<1x4x4x16xf16>) outs(%[[MOVED]] : tensor<1x4x4x16xf16>)
// CHECK: } -> tensor<1x4x4x16xf16>
// CHECK: } -> tensor<1x4x16x4xf16>
func.func @neighbours(%x: tensor<1x16x4x4xf16>, %v: tensor<16x16x1x1xf16>, %w: tensor<16x16x3x3xf16>)
    -> (tensor<1x16x2x2xf16>, tensor<1x4x16x4xf16>) {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %ew = tensor.empty() : tensor<16x16x3x3xf16>
  %minus = linalg.negf ins(%w : tensor<16x16x3x3xf16>) outs(%ew : tensor<16x16x3x3xf16>) -> tensor<16x16x3x3xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %m = linalg.negf ins(%a : tensor<1x16x4x4xf16>) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %mul = linalg.mul ins(%m, %a : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) outs(%m : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %e2 = tensor.empty() : tensor<1x16x2x2xf16>
  %start2 = linalg.fill ins(%zero : f16) outs(%e2 : tensor<1x16x2x2xf16>) -> tensor<1x16x2x2xf16>
  %b = linalg.conv_2d_nchw_fchw ins(%mul, %minus : tensor<1x16x4x4xf16>, tensor<16x16x3x3xf16>)
      outs(%start2 : tensor<1x16x2x2xf16>) -> tensor<1x16x2x2xf16>
  %te = tensor.empty() : tensor<1x4x16x4xf16>
  %t = linalg.transpose ins(%mul : tensor<1x16x4x4xf16>) outs(%te : tensor<1x4x16x4xf16>) permutation = [0, 2, 1, 3]
  return %b, %t : tensor<1x16x2x2xf16>, tensor<1x4x16x4xf16>
}

// -----

// Where something else than a convolution would read pictures across, as behind
// a norm of groups, all stay.
// CHECK-LABEL: func @groups
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK: linalg.conv_2d_nchw_fchw
func.func @groups(%x: tensor<1x16x4x4xf16>, %y: tensor<1x4x64xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %ungrouped = tensor.expand_shape %y [[0], [1], [2, 3, 4]] output_shape [1, 4, 4, 4, 4] : tensor<1x4x64xf16> into tensor<1x4x4x4x4xf16>
  %normed = tensor.collapse_shape %ungrouped [[0], [1, 2], [3], [4]] : tensor<1x4x4x4x4xf16> into tensor<1x16x4x4xf16>
  %sum = linalg.add ins(%a, %normed : tensor<1x16x4x4xf16>, tensor<1x16x4x4xf16>) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %b = linalg.conv_2d_nchw_fchw ins(%sum, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %b : tensor<1x16x4x4xf16>
}

// -----

// The order of blocks is not that of definitions.
// CHECK-LABEL: func @blocks
// CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 0, 0] [1, 4, 4, 8] [1, 1, 1, 1] : tensor<1x4x4x8xf16> into tensor<1x4x4x16xf16>
func.func @blocks(%x: tensor<1x16x4x4xf16>, %v: tensor<8x16x1x1xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1x16x4x4xf16>
  %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %e8 = tensor.empty() : tensor<1x8x4x4xf16>
  %start8 = linalg.fill ins(%zero : f16) outs(%e8 : tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  cf.br ^bb2
^bb1:
  %both = tensor.insert_slice %half into %a[0, 0, 0, 0] [1, 8, 4, 4] [1, 1, 1, 1] : tensor<1x8x4x4xf16> into tensor<1x16x4x4xf16>
  %b = linalg.conv_2d_nchw_fchw ins(%both, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  return %b : tensor<1x16x4x4xf16>
^bb2:
  %a = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
      outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
  %half = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x16x4x4xf16>, tensor<8x16x1x1xf16>)
      outs(%start8 : tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
  cf.br ^bb1
}

// -----

// What somebody has formed keeps its key.
// CHECK-LABEL: func @formed
// CHECK: linalg.conv_2d_nchw_fchw
// CHECK: linalg.conv_2d_nchw_fchw
func.func @formed(%x: tensor<1x16x4x4xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  %0 = fastk.workload "two"(%x, %w) : (tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x4x4xf16> {
  ^bb0(%y: tensor<1x16x4x4xf16>, %v: tensor<16x16x1x1xf16>):
    %zero = arith.constant 0.0 : f16
    %e = tensor.empty() : tensor<1x16x4x4xf16>
    %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    %a = linalg.conv_2d_nchw_fchw ins(%y, %v : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
        outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    %b = linalg.conv_2d_nchw_fchw ins(%a, %v : tensor<1x16x4x4xf16>, tensor<16x16x1x1xf16>)
        outs(%start : tensor<1x16x4x4xf16>) -> tensor<1x16x4x4xf16>
    fastk.yield %b : tensor<1x16x4x4xf16>
  }
  return %0 : tensor<1x16x4x4xf16>
}
