// RUN: fastk-opt %s --split-input-file --verify-diagnostics

func.func @scan_inputs(%x: tensor<3xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{has 2 'ins' operands, not 1 (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x, %x : tensor<3xf32>, tensor<3xf32>) outs(%x, %a : tensor<3xf32>, tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @scan_outputs(%x: tensor<3xf32>) {
  // expected-error@+1 {{has 1 'outs' operands, not 2 (required by 'tm_tensor.scan')}}
  %r = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf32>) outs(%x : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>
  return
}

// -----

func.func @scan_dimension(%x: tensor<3xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{dimension(1) is none of 'tensor<3xf32>' (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3xf32>) outs(%x, %a : tensor<3xf32>, tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @scan_elements(%x: tensor<3xf32>, %a: tensor<f64>) {
  // expected-error@+1 {{scans 'f32' into 'f32' and 'f64' (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf32>) outs(%x, %a : tensor<3xf32>, tensor<f64>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>, tensor<f64>
  return
}

// -----

func.func @scan_shape(%x: tensor<3xf32>, %o: tensor<4xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{scans 'tensor<3xf32>' into 'tensor<4xf32>' of another shape (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf32>) outs(%o, %a : tensor<4xf32>, tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<4xf32>, tensor<f32>
  return
}

// -----

func.func @scan_accumulator(%x: tensor<3x4xf32>, %a: tensor<4xf32>) {
  // expected-error@+1 {{accumulator 'tensor<4xf32>' is not 'tensor<3x4xf32>' without dimension 1 (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x4xf32>) outs(%x, %a : tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @scan_body(%x: tensor<3xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{body takes ('f64', 'f64'), not ('f32', 'f32') (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf32>) outs(%x, %a : tensor<3xf32>, tensor<f32>) {
  ^bb0(%p: f64, %q: f64):
    tm_tensor.yield %p : f64
  } -> tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @scan_yield(%x: tensor<3xf32>, %a: tensor<f32>) {
  // expected-error@+1 {{body yields ('f32', 'f32'), not 'f32' (required by 'tm_tensor.scan')}}
  %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<3xf32>) outs(%x, %a : tensor<3xf32>, tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p, %q : f32, f32
  } -> tensor<3xf32>, tensor<f32>
  return
}

// -----

func.func @scatter_indices(%u: tensor<2xf32>, %i: tensor<2xi64>, %x: tensor<5xf32>) {
  // expected-error@+1 {{indices are 'tensor<2xi64>', not integers of rank 2 (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2xi64>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @scatter_float_indices(%u: tensor<2xf32>, %i: tensor<2x1xf32>, %x: tensor<5xf32>) {
  // expected-error@+1 {{indices are 'tensor<2x1xf32>', not integers of rank 2 (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x1xf32>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @scatter_depth(%u: tensor<2xf32>, %i: tensor<2x?xi64>, %x: tensor<5xf32>) {
  // expected-error@+1 {{indices 'tensor<2x?xi64>' do not say how many dimensions they are for (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x?xi64>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @scatter_map(%u: tensor<2xf32>, %i: tensor<2x1xi64>, %x: tensor<5x5xf32>) {
  // expected-error@+1 {{dimension_map has 2 entries for indices of depth 1 (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%x : tensor<5x5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5x5xf32>
  return
}

// -----

func.func @scatter_map_twice(%u: tensor<2xf32>, %i: tensor<2x2xi64>, %x: tensor<5x5xf32>) {
  // expected-error@+1 {{dimension_map names dimension 0 of 'tensor<5x5xf32>', which does not exist or was named before (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0, 0>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x2xi64>) outs(%x : tensor<5x5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5x5xf32>
  return
}

// -----

func.func @scatter_counts(%u: tensor<3xf32>, %i: tensor<2x1xi64>, %x: tensor<5xf32>) {
  // expected-error@+1 {{has updates 'tensor<3xf32>' for indices 'tensor<2x1xi64>': their first dimensions must agree (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<3xf32>, tensor<2x1xi64>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @scatter_rank(%u: tensor<2x5x5xf32>, %i: tensor<2x1xi64>, %x: tensor<5xf32>) {
  // expected-error@+1 {{slices of 'tensor<2x5x5xf32>' have a higher rank than 'tensor<5xf32>' (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2x5x5xf32>, tensor<2x1xi64>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @scatter_open(%u: tensor<2xf32>, %i: tensor<2x1xi64>, %x: tensor<5x5xf32>) {
  // expected-error@+1 {{neither the indices nor the slices of 'tensor<2xf32>' say where in dimension 1 of 'tensor<5x5xf32>' (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%x : tensor<5x5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5x5xf32>
  return
}

// -----

func.func @scatter_slice(%u: tensor<2x6xf32>, %i: tensor<2x1xi64>, %x: tensor<5x5xf32>) {
  // expected-error@+1 {{slices of 'tensor<2x6xf32>' do not fit into 'tensor<5x5xf32>' in dimension 1 (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2x6xf32>, tensor<2x1xi64>) outs(%x : tensor<5x5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5x5xf32>
  return
}

// -----

func.func @scatter_elements(%u: tensor<2xf64>, %i: tensor<2x1xi64>, %x: tensor<5xf32>) {
  // expected-error@+1 {{scatters 'f64' into 'f32' (required by 'tm_tensor.scatter')}}
  %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%u, %i : tensor<2xf64>, tensor<2x1xi64>) outs(%x : tensor<5xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<5xf32>
  return
}

// -----

func.func @sort_inputs(%x: tensor<3xf32>) {
  // expected-error@+1 {{has 'ins' operands; it sorts its 'outs' (required by 'tm_tensor.sort')}}
  %r = tm_tensor.sort dimension(0) ins(%x : tensor<3xf32>) outs(%x : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>
  return
}

// -----

func.func @sort_dimension(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimension(-1) is none of 'tensor<3xf32>' (required by 'tm_tensor.sort')}}
  %r = tm_tensor.sort dimension(-1) outs(%x : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>
  return
}

// -----

func.func @sort_shapes(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{sorts 'tensor<3xf32>' together with 'tensor<4xf32>' of another shape (required by 'tm_tensor.sort')}}
  %r:2 = tm_tensor.sort dimension(0) outs(%x, %y : tensor<3xf32>, tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @sort_yield(%x: tensor<3xf32>) {
  // expected-error@+1 {{body yields ('f32'), not 'i1' (required by 'tm_tensor.sort')}}
  %r = tm_tensor.sort dimension(0) outs(%x : tensor<3xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>
  return
}

// -----

func.func @topk_inputs(%x: tensor<3xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{has 3 'ins' operands, not 1 or one more (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x, %i, %x : tensor<3xf32>, tensor<3xi32>, tensor<3xf32>) outs(%x, %i : tensor<3xf32>, tensor<3xi32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<3xf32>, tensor<3xi32>
  return
}

// -----

func.func @topk_elements(%x: tensor<3xf32>, %o: tensor<2xf64>, %i: tensor<2xi32>) {
  // expected-error@+1 {{chooses from 'tensor<3xf32>' into 'tensor<2xf64>' (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x : tensor<3xf32>) outs(%o, %i : tensor<2xf64>, tensor<2xi32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<2xf64>, tensor<2xi32>
  return
}

// -----

func.func @topk_shape(%x: tensor<3x4xf32>, %o: tensor<2x2xf32>, %i: tensor<2x2xi32>) {
  // expected-error@+1 {{values 'tensor<3x4xf32>' and result 'tensor<2x2xf32>' differ in more than dimension 0 (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x : tensor<3x4xf32>) outs(%o, %i : tensor<2x2xf32>, tensor<2x2xi32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<2x2xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @topk_indices(%x: tensor<3xf32>, %o: tensor<2xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{result 'tensor<2xf32>' has indices 'tensor<3xi32>' of another shape (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x : tensor<3xf32>) outs(%o, %i : tensor<2xf32>, tensor<3xi32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<2xf32>, tensor<3xi32>
  return
}

// -----

func.func @topk_float_indices(%x: tensor<3xf32>, %o: tensor<2xf32>) {
  // expected-error@+1 {{indices are 'tensor<2xf32>', not integers (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x : tensor<3xf32>) outs(%o, %o : tensor<2xf32>, tensor<2xf32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @topk_input_indices(%x: tensor<3xf32>, %j: tensor<3xi64>, %o: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{indices 'tensor<3xi64>' do not fit values 'tensor<3xf32>' and resulting indices 'tensor<2xi32>' (required by 'tm_tensor.topk')}}
  %r:2 = tm_tensor.topk dimension(0) ins(%x, %j : tensor<3xf32>, tensor<3xi64>) outs(%o, %i : tensor<2xf32>, tensor<2xi32>) {
  ^bb0(%p: f32, %q: f32):
    tm_tensor.yield %p : f32
  } -> tensor<2xf32>, tensor<2xi32>
  return
}

// -----

func.func @attention_rank(%q: tensor<6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x4xf32>) {
  // expected-error@+1 {{takes 'tensor<6x8xf32>', which is not of rank 3 (required by 'tm_tensor.attention')}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<6x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @attention_elements(%q: tensor<2x6x8xf32>, %k: tensor<2x5x8xf64>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x4xf32>) {
  // expected-error@+1 {{takes 'tensor<2x5x8xf64>' with 'tensor<2x6x8xf32>': all must be of one float type (required by 'tm_tensor.attention')}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x6x8xf32>, tensor<2x5x8xf64>, tensor<2x5x4xf32>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<2x6x8xf32>, %k: tensor<2x5x7xf32>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x4xf32>) {
  // expected-error@+1 {{K 'tensor<2x5x7xf32>' does not fit Q 'tensor<2x6x8xf32>', K 'tensor<2x5x7xf32>' and V 'tensor<2x5x4xf32>' (required by 'tm_tensor.attention')}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x6x8xf32>, tensor<2x5x7xf32>, tensor<2x5x4xf32>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @attention_values(%q: tensor<2x6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x6x4xf32>, %o: tensor<2x6x4xf32>) {
  // expected-error@+1 {{V 'tensor<2x6x4xf32>' does not fit Q 'tensor<2x6x8xf32>', K 'tensor<2x5x8xf32>' and V 'tensor<2x6x4xf32>' (required by 'tm_tensor.attention')}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x6x8xf32>, tensor<2x5x8xf32>, tensor<2x6x4xf32>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @attention_result(%q: tensor<2x6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x8xf32>) {
  // expected-error@+1 {{result 'tensor<2x6x8xf32>' does not fit}}
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<2x6x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>) outs(%o : tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x4xf32>, %m: tensor<2x6x6xf32>) {
  // expected-error@+1 {{mask 'tensor<2x6x6xf32>' does not fit}}
  %r = tm_tensor.attention ins(%q, %k, %v, %m : tensor<2x6x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>, tensor<2x6x6xf32>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @attention_mask_elements(%q: tensor<2x6x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x4xf32>, %o: tensor<2x6x4xf32>, %m: tensor<2x6x5xi8>) {
  // expected-error@+1 {{mask 'tensor<2x6x5xi8>' holds neither floats nor i1 (required by 'tm_tensor.attention')}}
  %r = tm_tensor.attention ins(%q, %k, %v, %m : tensor<2x6x8xf32>, tensor<2x5x8xf32>, tensor<2x5x4xf32>, tensor<2x6x5xi8>) outs(%o : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return
}
