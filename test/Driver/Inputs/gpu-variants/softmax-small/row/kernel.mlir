// Softmax of rows of 157 floats: a block a row, read once into registers.
// fixture: 2000 ns
gpu.module @softmax {
  gpu.func @softmax(%in: memref<23x157xf32>, %out: memref<23x157xf32>)
      workgroup(%parts: memref<5xf32, #gpu.address_space<workgroup>>) kernel {
    %row = gpu.block_id x
    %column = gpu.thread_id x
    %columns = arith.constant 157 : index
    %lowest = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %inside = arith.cmpi ult, %column, %columns : index

    %x = scf.if %inside -> f32 {
      %value = memref.load %in[%row, %column] : memref<23x157xf32>
      scf.yield %value : f32
    } else {
      scf.yield %lowest : f32
    }
    %warp_max = gpu.subgroup_reduce maximumf %x uniform : (f32) -> f32
    %max = func.call @combine_max(%parts, %warp_max)
      : (memref<5xf32, #gpu.address_space<workgroup>>, f32) -> f32
    %shifted = arith.subf %x, %max : f32
    %e = math.exp %shifted : f32
    %sum = gpu.all_reduce add %e uniform {} : (f32) -> f32
    %y = arith.divf %e, %sum : f32
    scf.if %inside {
      memref.store %y, %out[%row, %column] : memref<23x157xf32>
    }
    gpu.return
  }

  // The largest value of the block's five warps.
  func.func private @combine_max(%parts: memref<5xf32, #gpu.address_space<workgroup>>,
                                 %mine: f32) -> f32 {
    %thread = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %c32 = arith.constant 32 : index
    %warp = arith.divui %thread, %c32 : index
    %lane = arith.remui %thread, %c32 : index
    %first = arith.cmpi eq, %lane, %c0 : index
    scf.if %first {
      memref.store %mine, %parts[%warp] : memref<5xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %lowest = arith.constant 0xFF800000 : f32
    %all = scf.for %i = %c0 to %c5 step %c1 iter_args(%m = %lowest) -> f32 {
      %part = memref.load %parts[%i] : memref<5xf32, #gpu.address_space<workgroup>>
      %n = arith.maximumf %m, %part : f32
      scf.yield %n : f32
    }
    func.return %all : f32
  }
}
