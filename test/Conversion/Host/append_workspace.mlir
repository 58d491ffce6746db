// RUN: fastk-opt %s --fastk-append-workspace | FileCheck %s
// RUN: fastk-opt %s --fastk-append-workspace=planned --fastk-plan-buffers | FileCheck %s --check-prefix=PLANNED

// Without a plan the kernel allocates: the workspace is there and unused.
// CHECK: func.func @k(%{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}) {
// CHECK-NEXT: memref.alloc

// With one it is the arena, and the mark says how large.
// PLANNED: func.func @k(%{{.*}}: memref<8xf32> {llvm.noalias}, %{{.*}}: memref<8xf32> {llvm.noalias}, %[[W:.*]]: memref<32xi8> {llvm.noalias}) attributes {fastk.workspace_bytes = 32 : i64}
// PLANNED-NOT: memref.alloc
// PLANNED: memref.view %[[W]]
func.func @k(%x: memref<8xf32>, %y: memref<8xf32>) {
  %0 = memref.alloc() : memref<8xf32>
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
  linalg.negf ins(%0 : memref<8xf32>) outs(%y : memref<8xf32>)
  return
}
