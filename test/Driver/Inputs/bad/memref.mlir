func.func @f(%a: memref<4xf32>) { %c = arith.constant 0 : index
 %x = memref.load %a[%c] : memref<4xf32>
 memref.store %x, %a[%c] : memref<4xf32>
 return }
