// Four elements a thread, in one access of 16 bytes.
// fixture: 2000 ns
gpu.module @relu {
  gpu.func @relu(%in: memref<8192xf32>, %out: memref<8192xf32>) kernel {
    %block = gpu.block_id x
    %threads = gpu.block_dim x
    %thread = gpu.thread_id x
    %base = arith.muli %block, %threads : index
    %number = arith.addi %base, %thread : index
    %four = arith.constant 4 : index
    %first = arith.muli %number, %four : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %x = vector.load %in[%first] : memref<8192xf32>, vector<4xf32>
    %y = arith.maximumf %x, %zero : vector<4xf32>
    vector.store %y, %out[%first] : memref<8192xf32>, vector<4xf32>
    gpu.return
  }
}
