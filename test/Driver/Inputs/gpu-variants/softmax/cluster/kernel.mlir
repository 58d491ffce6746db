// Softmax of rows of 65536 floats. A cluster of four blocks keeps a row in
// registers: it is read once and written once. Two clusters' blocks share a
// multiprocessor, so one loads while the other reduces or stores.
gpu.module @softmax {
  gpu.func @softmax(%in: memref<4096x65536xf32> {llvm.noalias, llvm.readonly},
                    %out: memref<4096x65536xf32> {llvm.noalias})
      workgroup(%warp_max: memref<8xf32, #gpu.address_space<workgroup>>,
                %warp_sum: memref<8xf32, #gpu.address_space<workgroup>>,
                // Maximum and sum of every block of the cluster.
                %blocks: memref<4xvector<2xf32>, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 256, 1, 1>,
                         nvvm.minctasm = 2 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %step = arith.constant 1024 : index
    %share = arith.constant 16384 : index
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %log2e = arith.constant 1.44269502 : f32
    %log2e4 = arith.constant dense<1.44269502> : vector<4xf32>

    %thread = gpu.thread_id x
    %block = gpu.block_id x
    %rank = gpu.cluster_block_id x
    %row = arith.divui %block, %c4 : index
    %warp = arith.divui %thread, %c32 : index
    %lane = arith.remui %thread, %c32 : index
    %leads = arith.cmpi eq, %lane, %c0 : index
    %mine = arith.muli %rank, %share : index
    %inner = arith.muli %thread, %c4 : index
    %column = arith.addi %mine, %inner : index

    // The others' shared memory is there once all have said so.
    nvvm.cluster.arrive.relaxed {aligned}

    // Sixteen vectors a thread; the loops are unrolled and these are registers.
    %held = memref.alloca() : memref<16xvector<4xf32>>
    scf.for %i = %c0 to %c16 step %c1 {
      %offset = arith.muli %i, %step : index
      %at = arith.addi %column, %offset : index
      %x = vector.load %in[%row, %at] {nontemporal = true} : memref<4096x65536xf32>, vector<4xf32>
      memref.store %x, %held[%i] : memref<16xvector<4xf32>>
    }

    %lowest4 = arith.constant dense<0xFF800000> : vector<4xf32>
    %max4 = scf.for %i = %c0 to %c16 step %c1 iter_args(%m = %lowest4) -> vector<4xf32> {
      %x = memref.load %held[%i] : memref<16xvector<4xf32>>
      %n = arith.maximumf %m, %x : vector<4xf32>
      scf.yield %n : vector<4xf32>
    }
    %max1 = vector.reduction <maximumf>, %max4 : vector<4xf32> into f32
    %max32 = gpu.subgroup_reduce maximumf %max1 uniform : (f32) -> f32
    scf.if %leads {
      memref.store %max32, %warp_max[%warp] : memref<8xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %max = scf.for %i = %c0 to %c8 step %c1 iter_args(%m = %max32) -> f32 {
      %x = memref.load %warp_max[%i] : memref<8xf32, #gpu.address_space<workgroup>>
      %n = arith.maximumf %m, %x : f32
      scf.yield %n : f32
    }

    // Exponentials relative to the block's own maximum, so that the cluster talks
    // once. A block of nothing but -inf subtracts 0: they are then 0, not NaN.
    %empty = arith.cmpf oeq, %max, %lowest : f32
    %top = arith.select %empty, %zero, %max : f32
    %top4 = vector.broadcast %top : f32 to vector<4xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      %x = memref.load %held[%i] : memref<16xvector<4xf32>>
      %d = arith.subf %x, %top4 : vector<4xf32>
      %s = arith.mulf %d, %log2e4 : vector<4xf32>
      %e = func.call @exp2(%s) : (vector<4xf32>) -> vector<4xf32>
      memref.store %e, %held[%i] : memref<16xvector<4xf32>>
    }
    %zero4 = arith.constant dense<0.0> : vector<4xf32>
    %sum4 = scf.for %i = %c0 to %c16 step %c1 iter_args(%a = %zero4) -> vector<4xf32> {
      %e = memref.load %held[%i] : memref<16xvector<4xf32>>
      %b = arith.addf %a, %e : vector<4xf32>
      scf.yield %b : vector<4xf32>
    }
    %sum1 = vector.reduction <add>, %sum4 : vector<4xf32> into f32
    %sum32 = gpu.subgroup_reduce add %sum1 uniform : (f32) -> f32
    scf.if %leads {
      memref.store %sum32, %warp_sum[%warp] : memref<8xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    nvvm.cluster.wait {aligned}

    // Each of the first four threads tells one block of the cluster.
    %tells = arith.cmpi ult, %thread, %c4 : index
    scf.if %tells {
      %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %zero) -> f32 {
        %x = memref.load %warp_sum[%i] : memref<8xf32, #gpu.address_space<workgroup>>
        %b = arith.addf %a, %x : f32
        scf.yield %b : f32
      }
      %pair = vector.from_elements %max, %sum : vector<2xf32>
      %base = memref.extract_aligned_pointer_as_index %blocks
        : memref<4xvector<2xf32>, #gpu.address_space<workgroup>> -> index
      %bytes = arith.muli %rank, %c8 : index
      %place = arith.addi %base, %bytes : index
      %number = arith.index_cast %place : index to i64
      %local = llvm.inttoptr %number : i64 to !llvm.ptr<3>
      %other = arith.index_cast %thread : index to i32
      %remote = nvvm.mapa %local, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      llvm.store %pair, %remote : vector<2xf32>, !llvm.ptr<7>
    }
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}

    %all = scf.for %i = %c0 to %c4 step %c1 iter_args(%m = %lowest) -> f32 {
      %pair = memref.load %blocks[%i] : memref<4xvector<2xf32>, #gpu.address_space<workgroup>>
      %x = vector.extract %pair[0] : f32 from vector<2xf32>
      %n = arith.maximumf %m, %x : f32
      scf.yield %n : f32
    }
    %total = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %zero) -> f32 {
      %pair = memref.load %blocks[%i] : memref<4xvector<2xf32>, #gpu.address_space<workgroup>>
      %x = vector.extract %pair[0] : f32 from vector<2xf32>
      %s = vector.extract %pair[1] : f32 from vector<2xf32>
      %f = func.call @factor(%x, %all) : (f32, f32) -> f32
      %t = arith.mulf %s, %f : f32
      %b = arith.addf %a, %t : f32
      scf.yield %b : f32
    }
    %own = func.call @factor(%max, %all) : (f32, f32) -> f32
    %inverse = arith.divf %one, %total : f32
    %scale = arith.mulf %own, %inverse : f32
    %scale4 = vector.broadcast %scale : f32 to vector<4xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      %e = memref.load %held[%i] : memref<16xvector<4xf32>>
      %y = arith.mulf %e, %scale4 : vector<4xf32>
      %offset = arith.muli %i, %step : index
      %at = arith.addi %column, %offset : index
      vector.store %y, %out[%row, %at] {nontemporal = true} : memref<4096x65536xf32>, vector<4xf32>
    }
    gpu.return
  }

  // exp(a - b), 1 where both are -inf.
  func.func private @factor(%a: f32, %b: f32) -> f32 {
    %log2e = arith.constant 1.44269502 : f32
    %one = arith.constant 1.0 : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %d = arith.subf %a, %b : f32
    %s = arith.mulf %d, %log2e : f32
    %e = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %s : (f32) -> f32
    %r = arith.select %same, %one, %e : f32
    func.return %r : f32
  }

  func.func private @exp2(%x: vector<4xf32>) -> vector<4xf32> {
    %x0, %x1, %x2, %x3 = vector.to_elements %x : vector<4xf32>
    %e0 = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x0 : (f32) -> f32
    %e1 = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x1 : (f32) -> f32
    %e2 = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x2 : (f32) -> f32
    %e3 = llvm.inline_asm "ex2.approx.ftz.f32 $0, $1;", "=f,f" %x3 : (f32) -> f32
    %e = vector.from_elements %e0, %e1, %e2, %e3 : vector<4xf32>
    func.return %e : vector<4xf32>
  }
}
