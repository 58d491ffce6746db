// REQUIRES: libdevice
// RUN: rm -rf %t && split-file %s %t
// RUN: python3 %S/Inputs/schedule_cases.py %t product elsewhere unknown unit text scalar_depth=3 tensor_stages=4 scalar_warp_rows=8,scalar_warp_columns=8 scalar_depth=64 scalar_warp_rows=1,scalar_warp_columns=1,scalar_rows=16,scalar_columns=16 contraction_parts=7 mixed many blocks warps lanes threads | FileCheck %s --check-prefix=PRODUCT
// RUN: python3 %S/Inputs/schedule_cases.py %t half tensor_stages=8,tensor_warp_rows=2,tensor_warp_columns=4,tensor_rows=64,tensor_columns=64 tensor_columns=48,tensor_warp_columns=2 tensor_rows=128,tensor_columns=128,tensor_warp_rows=1,tensor_warp_columns=1,tensor_stages=2,tensor_resident=1 | FileCheck %s --check-prefix=HALF
// RUN: python3 %S/Inputs/schedule_cases.py %t rows row_keep=1 row_keep=1,row_blocks=4,row_threads=1024 row_threads=1024,row_block=512 row_blocks=4,row_keep=0,row_threads=128,row_block=256 row_blocks=64,row_keep=0 row_width=8 row_resident=16 row | FileCheck %s --check-prefix=ROWS
// RUN: python3 %S/Inputs/schedule_cases.py %t chain vector_width=8 vector_width=4,vector_count=48 | FileCheck %s --check-prefix=CHAIN

// What a schedule may not annotate.
// PRODUCT-LABEL: CASE elsewhere
// PRODUCT: error: 'fastk.lowering' op schedule schedule.mlir:5:5 uses 'transform.annotate', which a schedule may not: it annotates something else than the function, where nobody looks; docs/schedules.md lists the ops that are allowed (required by 'fastk.schedule_ops')
// PRODUCT-LABEL: CASE unknown
// PRODUCT: 'fastk.speed' is no number that kernels can be told
// PRODUCT-LABEL: CASE unit
// PRODUCT: it gives no number
// PRODUCT-LABEL: CASE text
// PRODUCT: error: 'fastk.scalar_depth' is "many", not an integer (required by 'fastk.kernel_choices')

// Numbers that no kernel has, and kernels that no multiprocessor holds.
// PRODUCT-LABEL: CASE scalar_depth=3
// PRODUCT: error: 'fastk.scalar_depth' = 3 must be a multiple of 2 from 2 to 64 (required by 'fastk.kernel_choices')
// PRODUCT-LABEL: CASE tensor_stages=4
// PRODUCT: error: 'fastk.tensor_stages' is read by none of its kernels (scalar tiles) (required by 'fastk.kernel_choices')
// PRODUCT-LABEL: CASE scalar_warp_rows=8,
// PRODUCT: error: 'fastk.scalar_warp_rows' times 'fastk.scalar_warp_columns': threads of a block: 2048 of at most 1024 (required by 'fastk.kernel_choices')
// PRODUCT-LABEL: CASE scalar_depth=64
// PRODUCT: error: two slices of a tile: bytes of shared memory: {{[0-9]+}} of at most 49152
// PRODUCT-LABEL: CASE scalar_warp_rows=1,
// PRODUCT: registers of a thread: {{[0-9]+}} of at most
// PRODUCT-LABEL: CASE contraction_parts=7
// PRODUCT: error: 'fastk.contraction_parts' = 7 does not divide the outermost loop of the sum, of 1024

// Loops that cannot be mapped as they say.
// PRODUCT-LABEL: CASE mixed
// PRODUCT: error: 'scf.forall' op is mapped to [#gpu.block<y>, #gpu.thread<x>]; all dimensions of a loop are #gpu.block, #gpu.warp, or #gpu.thread (required by 'fastk.mapping')
// PRODUCT-LABEL: CASE many
// PRODUCT: error: 'scf.forall' op asks for 4096 threads of a block, which has 1024 at most: larger tiles, or one more loop around it (required by 'fastk.mapping')
// PRODUCT-LABEL: CASE blocks
// PRODUCT: is mapped to blocks inside a loop that is mapped to blocks (required by 'fastk.mapping')
// PRODUCT-LABEL: CASE warps
// PRODUCT: is mapped to warps inside a loop that is mapped to warps (required by 'fastk.mapping')
// PRODUCT-LABEL: CASE lanes
// PRODUCT: asks for 64 threads of a warp, which has 32 at most
// PRODUCT-LABEL: CASE threads
// PRODUCT: is mapped inside a loop that is mapped to threads (required by 'fastk.mapping')

// HALF-LABEL: CASE tensor_stages=8,
// HALF: error: 'fastk.tensor_stages' slices of a tile in 'fastk.tensor_resident' blocks: bytes of shared memory: {{[0-9]+}} of at most 232448
// Chunks of rows of 96 would change places with those of the next row.
// HALF-LABEL: CASE tensor_columns=48
// HALF: error: a tile of {{[0-9]+}} x {{[0-9]+}} is no multiple of 64 rows and columns
// HALF-LABEL: CASE tensor_rows=128
// HALF: registers of a thread: {{[0-9]+}} of at most

// ROWS-LABEL: CASE row_keep=1
// ROWS: error: 'fastk.row_keep' = 1 keeps {{[0-9]+}} words a thread; registers of a thread: {{[0-9]+}} of at most
// ROWS-LABEL: CASE row_keep=1,row_blocks=4
// ROWS: error: 'fastk.row_keep' = 1 keeps values of whole rows, which 'fastk.row_blocks' = 4 cuts
// ROWS-LABEL: CASE row_threads=1024,row_block=512
// ROWS: error: 'fastk.row_threads' is more than the threads of a block, 'fastk.row_block': 1024 of at most 512
// ROWS-LABEL: CASE row_blocks=4
// ROWS: error: 'fastk.row_blocks' = 4 needs blocks of one row: 'fastk.row_block' = 'fastk.row_threads'
// ROWS-LABEL: CASE row_blocks=64
// ROWS: error: 'fastk.row_blocks' = 64 leaves some blocks nothing of a row: with steps of {{[0-9]+}} vectors there is work for {{[0-9]+}}
// ROWS-LABEL: CASE row_width=8
// ROWS: error: 'fastk.row_width' is wider than rows and memory allow: 8 of at most 4
// ROWS-LABEL: CASE row_resident=16
// ROWS: error: 'fastk.row_resident': threads of a multiprocessor: {{[0-9]+}} of at most 2048
// A row of 256 KB that is kept whole.
// ROWS-LABEL: CASE row
// ROWS: keeps {{[0-9]+}} bytes a block, of at most 232448 of shared memory: smaller tiles (required by 'fastk.mapping')

// CHAIN-LABEL: CASE vector_width=8
// CHAIN: error: 'fastk.vector_width' is wider than memory allows: 8 of at most 4
// CHAIN-LABEL: CASE vector_width=4
// CHAIN: error: 'fastk.vector_count' = 48 must be from 1 to 16

//--- product.mlir
func.func @forward(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}
//--- elsewhere.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %n = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.annotate %p "fastk.scalar_depth" = %n : !transform.any_op, !transform.param<i64>
    transform.yield
  }
}
//--- unknown.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %n = transform.param.constant 64 : i64 -> !transform.param<i64>
    transform.annotate %func "fastk.speed" = %n : !transform.any_op, !transform.param<i64>
    transform.yield
  }
}
//--- unit.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    transform.annotate %func "fastk.scalar_depth" : !transform.any_op
    transform.yield
  }
}
//--- text.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %n = transform.param.constant "many" -> !transform.any_param
    transform.annotate %func "fastk.scalar_depth" = %n : !transform.any_op, !transform.any_param
    transform.yield
  }
}
//--- mixed.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [8, 8, 0] (mapping = [#gpu.block<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- many.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [64, 64, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b, %lb = transform.structured.tile_using_forall %a tile_sizes [1, 1, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- blocks.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [32, 32, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b, %lb = transform.structured.tile_using_forall %a tile_sizes [8, 8, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- warps.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [64, 64, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b, %lb = transform.structured.tile_using_forall %a tile_sizes [32, 32, 0] (mapping = [#gpu.warp<y>, #gpu.warp<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %c, %lc = transform.structured.tile_using_forall %b tile_sizes [16, 16, 0] (mapping = [#gpu.warp<y>, #gpu.warp<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- lanes.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [64, 64, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b, %lb = transform.structured.tile_using_forall %a tile_sizes [32, 32, 0] (mapping = [#gpu.warp<y>, #gpu.warp<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %c, %lc = transform.structured.tile_using_forall %b tile_sizes [4, 4, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- threads.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %p = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %a, %la = transform.structured.tile_using_forall %p tile_sizes [32, 32, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b, %lb = transform.structured.tile_using_forall %a tile_sizes [4, 4, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %c, %lc = transform.structured.tile_using_forall %b tile_sizes [1, 1, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- half.mlir
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @forward(%x: tensor<1024x1024xf16>, %y: tensor<1024x1024xf16>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %y : tensor<1024x1024xf16>, tensor<1024x1024xf16>) outs(%f : tensor<1024x1024xf32>) {
  ^bb0(%u: f16, %v: f16, %o: f32):
    %0 = arith.extf %u : f16 to f32
    %1 = arith.extf %v : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %2, %o : f32
    linalg.yield %3 : f32
  } -> tensor<1024x1024xf32>
  return %p : tensor<1024x1024xf32>
}
//--- rows.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<64x65536xf32>) -> (tensor<64x65536xf32>) {
  %v1 = tensor.empty() : tensor<64x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<64x1xf32>) -> tensor<64x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<64x65536xf32>) outs(%v3 : tensor<64x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<64x1xf32>
  %v5 = tensor.empty() : tensor<64x65536xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<64x65536xf32>, tensor<64x1xf32>) outs(%v5 : tensor<64x65536xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<64x65536xf32>
  %v7 = tensor.empty() : tensor<64x65536xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<64x65536xf32>) outs(%v7 : tensor<64x65536xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<64x65536xf32>
  %v9 = tensor.empty() : tensor<64x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<64x1xf32>) -> tensor<64x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<64x65536xf32>) outs(%v11 : tensor<64x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<64x1xf32>
  %v13 = tensor.empty() : tensor<64x65536xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<64x65536xf32>, tensor<64x1xf32>) outs(%v13 : tensor<64x65536xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<64x65536xf32>
  return %v14 : tensor<64x65536xf32>
}

//--- row.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    transform.apply_patterns to %func {
      transform.apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
      transform.apply_patterns.tensor.reassociative_reshape_folding
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %return = transform.structured.match ops{["func.return"]} in %func : (!transform.any_op) -> !transform.any_op
    %root = transform.get_producer_of_operand %return[0] : (!transform.any_op) -> !transform.any_op
    %row, %rows = transform.structured.fuse %root tile_sizes [1, 0] {apply_cleanup, use_forall} : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_patterns to %func {
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    %maps = transform.structured.match ops{["linalg.generic"]} attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>]} in %func : (!transform.any_op) -> !transform.any_op
    transform.foreach %maps : !transform.any_op {
    ^bb0(%op: !transform.any_op):
      %piece, %pieces = transform.structured.tile_using_for %op tile_sizes [0, 1024] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      %vector, %threads = transform.structured.tile_using_forall %piece tile_sizes [0, 4] (mapping = [#gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
      transform.structured.vectorize %vector : !transform.any_op
    }
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.cast_away_vector_leading_one_dim
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
//--- chain.mlir
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @forward(%x: tensor<128x1024xf32>, %y: tensor<1024xf32>) -> tensor<128x1024xf32> {
  %e = tensor.empty() : tensor<128x1024xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<128x1024xf32>, tensor<1024xf32>) outs(%e : tensor<128x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<128x1024xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %x : tensor<128x1024xf32>, tensor<128x1024xf32>) outs(%e : tensor<128x1024xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.tanh %a : f32
    %1 = arith.mulf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<128x1024xf32>
  return %t : tensor<128x1024xf32>
}
