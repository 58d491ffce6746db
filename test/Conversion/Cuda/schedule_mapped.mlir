// REQUIRES: libdevice
// RUN: rm -rf %t && split-file %s %t
// RUN: python3 %S/Inputs/schedule_cases.py %t chain vectors unmapped | FileCheck %s --check-prefix=CHAIN
// RUN: python3 %S/Inputs/schedule_cases.py %t prime scalars | FileCheck %s --check-prefix=PRIME
// RUN: python3 %S/Inputs/schedule_cases.py %t rows row | FileCheck %s --check-prefix=ROWS
// RUN: python3 %S/Inputs/schedule_cases.py %t product tiles linear | FileCheck %s --check-prefix=PRODUCT
// RUN: python3 %S/Inputs/schedule_cases.py %t odd points | FileCheck %s --check-prefix=ODD

// A schedule that tiles and maps the loops: those outermost become kernels, with
// the grid and the block of their mapping.

// CHAIN-LABEL: CASE vectors
// CHAIN: {"launch":"k0","grid":[1,128,1],"block":[256,1,1],"arguments":["out0","in0","in1"]}
// CHAIN: gpu.func @k0({{.*}}known_block_size = array<i32: 256, 1, 1>
// CHAIN: gpu.block_id y
// CHAIN: vector.load {{.*}}alignment = 16{{.*}}vector<4xf32>
// CHAIN: math.tanh {{.*}} : vector<4xf32>
// CHAIN: vector.store {{.*}}alignment = 16{{.*}}vector<4xf32>
// CHAIN-NOT: gpu.barrier
// CHAIN: .visible .entry k0(
// CHAIN: ld.global.v4.b32

// Loops that are mapped to nothing: the outermost to blocks; what is left in a
// block is shared by its threads.
// CHAIN-LABEL: CASE unmapped
// CHAIN: "grid":[128,1,1],"block":[256,1,1]
// CHAIN: scf.for %{{.*}} = %thread_id_x to %c1024 step %c256
// CHAIN-NOT: gpu.barrier
// CHAIN: gpu.return

// 101 x 257: the tile at the end of a row has one point.
// PRIME-LABEL: CASE scalars
// PRIME: "grid":[2,101,1],"block":[256,1,1]
// PRIME: affine.min
// PRIME: math.tanh {{.*}} : f32
// PRIME: .visible .entry

// A block a row: reductions as trees, vectors between them, rows that live from
// one to the next in shared memory.
// ROWS-LABEL: CASE row
// ROWS: {"launch":"k0","grid":[96,1,1],"block":[128,1,1],"shared_bytes":{{[1-9][0-9]+}},"arguments":["in0","out0"]}
// ROWS: gpu.dynamic_shared_memory
// ROWS: arith.maximumf
// ROWS: gpu.shuffle xor
// ROWS: gpu.barrier
// ROWS: math.exp {{.*}} : vector<4xf32>
// ROWS: gpu.barrier
// ROWS: arith.addf
// ROWS: gpu.shuffle xor
// ROWS: arith.divf {{.*}} : vector<4xf32>
// ROWS-NOT: memref.copy
// Dynamic shared memory must not begin where the static one does.
// ROWS: .extern .shared .align {{[0-9]+}} .b8 __dynamic_shmem__0[];

// Blocks of 32 x 128, eight warps of 16 x 32, their threads 4 x 4 each, which
// stay in registers over the sum.
// PRODUCT-LABEL: CASE tiles
// PRODUCT: {"launch":"k0","grid":[1,3,1],"block":[256,1,1],"arguments":[
// PRODUCT: gpu.barrier
// PRODUCT: %[[WARP:.*]] = arith.divui %thread_id_x, %c32
// PRODUCT: arith.remui %thread_id_x, %c32
// PRODUCT: scf.for {{.*}} iter_args({{.*}}) -> (vector<4x4xf32>)
// PRODUCT: vector.fma
// PRODUCT-NOT: gpu.barrier
// PRODUCT: nvvm.bar.warp.sync
// PRODUCT: gpu.return
// PRODUCT: fma.rn.f32

// One number for all blocks: rows side by side.
// PRODUCT-LABEL: CASE linear
// PRODUCT: "grid":[3,1,1],"block":[256,1,1]
// PRODUCT: affine_map<(d0) -> (d0 * 32)>
// PRODUCT: scf.for
// PRODUCT: scf.for

// 67 x 53 x 45: nothing divides.
// ODD-LABEL: CASE points
// ODD: "grid":[2,9,1],"block":[256,1,1]
// ODD: affine.min
// ODD: arith.mulf
// ODD: arith.addf
// ODD: .visible .entry

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
//--- vectors.sched
// 256 threads a block, 4 elements of each.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %op:2 = transform.split_handle %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b0, %blocks0 = transform.structured.tile_using_forall %op#1 tile_sizes [1, 1024] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %f0, %blocks1 = transform.structured.fuse_into_containing_op %op#0 into %blocks0 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %t0, %threads0 = transform.structured.tile_using_forall %b0 tile_sizes [0, 4] (mapping = [#gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %g0, %threads1 = transform.structured.fuse_into_containing_op %f0 into %threads0 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %g0 : !transform.any_op
    transform.structured.vectorize %t0 : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.vector.cast_away_vector_leading_one_dim
      transform.apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
//--- unmapped.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %op:2 = transform.split_handle %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %rest, %rows = transform.structured.tile_using_forall %op#1 tile_sizes [1, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %f, %rows2 = transform.structured.fuse_into_containing_op %op#0 into %rows : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- prime.mlir
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @forward(%x: tensor<101x257xf32>, %y: tensor<257xf32>) -> tensor<101x257xf32> {
  %e = tensor.empty() : tensor<101x257xf32>
  %s = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<101x257xf32>, tensor<257xf32>) outs(%e : tensor<101x257xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<101x257xf32>
  %t = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%s, %x : tensor<101x257xf32>, tensor<101x257xf32>) outs(%e : tensor<101x257xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = math.tanh %a : f32
    %1 = arith.mulf %0, %b : f32
    linalg.yield %1 : f32
  } -> tensor<101x257xf32>
  return %t : tensor<101x257xf32>
}
//--- scalars.sched
// 256 threads a block, 1 element of each.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %all = transform.structured.match ops{["linalg.generic"]} in %func : (!transform.any_op) -> !transform.any_op
    %op:2 = transform.split_handle %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %b0, %blocks0 = transform.structured.tile_using_forall %op#1 tile_sizes [1, 256] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %f0, %blocks1 = transform.structured.fuse_into_containing_op %op#0 into %blocks0 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %t0, %threads0 = transform.structured.tile_using_forall %b0 tile_sizes [0, 1] (mapping = [#gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %g0, %threads1 = transform.structured.fuse_into_containing_op %f0 into %threads0 : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.apply_cse to %func : !transform.any_op
    transform.yield
  }
}
//--- rows.mlir
#map0 = affine_map<(d0,d1) -> (d0,d1)>
#map1 = affine_map<(d0,d1) -> (d0,0)>
func.func @forward(%arg0: tensor<96x512xf32>) -> (tensor<96x512xf32>) {
  %v1 = tensor.empty() : tensor<96x1xf32>
  %v2 = arith.constant 0xFF800000 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<96x1xf32>) -> tensor<96x1xf32>
  %v4 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%arg0 : tensor<96x512xf32>) outs(%v3 : tensor<96x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.maximumf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<96x1xf32>
  %v5 = tensor.empty() : tensor<96x512xf32>
  %v6 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%arg0, %v4 : tensor<96x512xf32>, tensor<96x1xf32>) outs(%v5 : tensor<96x512xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.subf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<96x512xf32>
  %v7 = tensor.empty() : tensor<96x512xf32>
  %v8 = linalg.generic {indexing_maps=[#map0,#map0], iterator_types=["parallel","parallel"]} ins(%v6 : tensor<96x512xf32>) outs(%v7 : tensor<96x512xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = math.exp %i0 : f32
  linalg.yield %z : f32
  } -> tensor<96x512xf32>
  %v9 = tensor.empty() : tensor<96x1xf32>
  %v10 = arith.constant 0.0 : f32
  %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<96x1xf32>) -> tensor<96x1xf32>
  %v12 = linalg.generic {indexing_maps=[#map0,#map1], iterator_types=["parallel","reduction"]} ins(%v8 : tensor<96x512xf32>) outs(%v11 : tensor<96x1xf32>) {
  ^bb0(%i0: f32, %o: f32):
  %z = arith.addf %i0, %o : f32
  linalg.yield %z : f32
  } -> tensor<96x1xf32>
  %v13 = tensor.empty() : tensor<96x512xf32>
  %v14 = linalg.generic {indexing_maps=[#map0,#map1,#map0], iterator_types=["parallel","parallel"]} ins(%v8, %v12 : tensor<96x512xf32>, tensor<96x1xf32>) outs(%v13 : tensor<96x512xf32>) {
  ^bb0(%i0: f32, %i1: f32, %o: f32):
  %z = arith.divf %i0, %i1 : f32
  linalg.yield %z : f32
  } -> tensor<96x512xf32>
  return %v14 : tensor<96x512xf32>
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
      %piece, %pieces = transform.structured.tile_using_for %op tile_sizes [0, 512] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
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
//--- product.mlir
func.func @forward(%a: tensor<96x64xf32>, %b: tensor<64x128xf32>) -> tensor<96x128xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<96x128xf32>) -> tensor<96x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<96x64xf32>, tensor<64x128xf32>) outs(%f : tensor<96x128xf32>) -> tensor<96x128xf32>
  return %c : tensor<96x128xf32>
}
//--- tiles.sched
// Blocks of 32 x 128, warps of 16 x 32, threads of 4 x 4.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %product = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %fill = transform.get_producer_of_operand %product[2] : (!transform.any_op) -> !transform.any_op
    %block, %blocks = transform.structured.tile_using_forall %product tile_sizes [32, 128, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %start, %blocks2 = transform.structured.fuse_into_containing_op %fill into %blocks : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %warp, %warps = transform.structured.tile_using_forall %block tile_sizes [16, 32, 0] (mapping = [#gpu.warp<y>, #gpu.warp<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %lane, %lanes = transform.structured.tile_using_forall %warp tile_sizes [4, 4, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %slice, %sum = transform.structured.tile_using_for %lane tile_sizes [0, 0, 8] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.vectorize %slice : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.reduction_to_contract
      transform.apply_patterns.vector.transfer_permutation_patterns
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.loop.hoist_loop_invariant_subsets %sum : !transform.any_op
    transform.apply_patterns to %func {
      transform.apply_patterns.vector.lower_contraction lowering_strategy = "outerproduct"
      transform.apply_patterns.vector.lower_outerproduct
      transform.apply_patterns.vector.lower_transpose lowering_strategy = "shuffle_1d"
      transform.apply_patterns.canonicalization
    } : !transform.any_op
    transform.yield
  }
}
//--- linear.sched
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %product = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %b, %blocks = transform.structured.tile_using_forall %product tile_sizes [32, 128, 0] (mapping = [#gpu.block<linear_dim_0>, #gpu.block<linear_dim_1>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %t, %threads = transform.structured.tile_using_forall %b tile_sizes [4, 4, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
//--- odd.mlir
func.func @forward(%a: tensor<67x45xf32>, %b: tensor<45x53xf32>) -> tensor<67x53xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<67x53xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<67x53xf32>) -> tensor<67x53xf32>
  %c = linalg.matmul ins(%a, %b : tensor<67x45xf32>, tensor<45x53xf32>) outs(%f : tensor<67x53xf32>) -> tensor<67x53xf32>
  return %c : tensor<67x53xf32>
}
//--- points.sched
// Blocks of 8 x 32, warps of 4 x 8, threads of 1 x 1.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__fastk_schedule(%func: !transform.any_op {transform.readonly}) {
    %product = transform.structured.match attributes {iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]} in %func : (!transform.any_op) -> !transform.any_op
    %fill = transform.get_producer_of_operand %product[2] : (!transform.any_op) -> !transform.any_op
    %block, %blocks = transform.structured.tile_using_forall %product tile_sizes [8, 32, 0] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %start, %blocks2 = transform.structured.fuse_into_containing_op %fill into %blocks : (!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)
    %warp, %warps = transform.structured.tile_using_forall %block tile_sizes [4, 8, 0] (mapping = [#gpu.warp<y>, #gpu.warp<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %lane, %lanes = transform.structured.tile_using_forall %warp tile_sizes [1, 1, 0] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
