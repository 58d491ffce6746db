//===- ChannelsLast.td - Channels of pictures beside each *- tablegen -*-===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

def FastkChannelsLastPass
    : Pass<"fastk-channels-last", "::mlir::func::FuncOp"> {
  let summary = "Lay tensors between convolutions out with channels last";
  let description = [{
    Tensors that lie between one convolution and another become tensors whose
    channels are the last dimension: NCHW becomes NHWC. Tensor cores sum over
    channels, and a GPU's tensor maps load what lies together; of a tensor whose
    pixels lie together a copy is written before each convolution.

    A tensor moves with all that is computed of it pixel by pixel: elementwise
    ops, poolings, pads, concatenations and slices. None computes anything else:
    each reads and writes the same elements at other places, as its indexing maps
    say; named ops become `linalg.generic`. Empty tensors and fills are made anew.

    What stays:

    * arguments and results of functions, weights, and what is reshaped or handed
      through control flow;
    * all tensors between convolutions where an op that is none would read a
      tensor that stays at the places where it writes one that moves, as behind a
      norm of groups: one of them would lie across;
    * all of them where one of the convolutions is depthwise, as it sums over no
      channels, or where its operands are no floats of 16 bits; with `float32`,
      floats of 32 bits count as well.

    Convolutions are `linalg.conv_2d_nchw_fchw` and `conv_3d_ncdhw_fcdhw`; the
    same as a `linalg.generic` does not count.

    ```mlir
    // fastk-opt --fastk-channels-last
    func.func @two(%x: tensor<1x16x8x8xf16>, %v: tensor<16x16x1x1xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16> {
      %zero = arith.constant 0.0 : f16
      %e = tensor.empty() : tensor<1x16x8x8xf16>
      %start = linalg.fill ins(%zero : f16) outs(%e : tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
      %0 = linalg.conv_2d_nchw_fchw ins(%x, %v : tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) outs(%start : tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
      %1 = linalg.conv_2d_nchw_fchw ins(%0, %w : tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) outs(%start : tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
      return %1 : tensor<1x16x8x8xf16>
    }
    ```
    becomes
    ```mlir
    func.func @two(%arg0: tensor<1x16x8x8xf16>, %arg1: tensor<16x16x1x1xf16>, %arg2: tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16> {
      %cst = arith.constant 0.000000e+00 : f16
      %0 = tensor.empty() : tensor<1x16x8x8xf16>
      %1 = linalg.fill ins(%cst : f16) outs(%0 : tensor<1x16x8x8xf16>) -> tensor<1x16x8x8xf16>
      %2 = tensor.empty() : tensor<1x8x8x16xf16>
      %3 = linalg.fill ins(%cst : f16) outs(%2 : tensor<1x8x8x16xf16>) -> tensor<1x8x8x16xf16>
      %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2, d3, d1)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) outs(%3 : tensor<1x8x8x16xf16>) {
      ^bb0(%in: f16, %in_0: f16, %out: f16):
        %6 = arith.mulf %in, %in_0 : f16
        %7 = arith.addf %out, %6 : f16
        linalg.yield %7 : f16
      } -> tensor<1x8x8x16xf16>
      %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d5, d3 + d6, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%4, %arg2 : tensor<1x8x8x16xf16>, tensor<16x16x1x1xf16>) outs(%1 : tensor<1x16x8x8xf16>) {
      ^bb0(%in: f16, %in_0: f16, %out: f16):
        %6 = arith.mulf %in, %in_0 : f16
        %7 = arith.addf %out, %6 : f16
        linalg.yield %7 : f16
      } -> tensor<1x16x8x8xf16>
      return %5 : tensor<1x16x8x8xf16>
    }
    ```
  }];
  let options = [
    Option<"float32", "float32", "bool", "false",
           "move tensors between convolutions of f32, too">
  ];
}
