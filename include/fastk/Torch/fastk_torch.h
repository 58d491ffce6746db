/*===- fastk_torch.h - The C API of libfastk_torch ----------------*- C -*-===*\
|*                                                                            *|
|* Part of fastk, under the Apache License v2.0 with LLVM Exceptions.         *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiled programs as ops of PyTorch, called without Python. It needs       *|
|* torch 2.10 or newer in the process, of whose stable C ABI it uses what     *|
|* lib/Torch/TorchFunctions.def lists; one build serves all these versions.   *|
|*                                                                            *|
|* Nothing is ever given back: ops live as long as the process, and what they *|
|* call must do so, too.                                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FASTK_TORCH_FASTK_TORCH_H
#define FASTK_TORCH_FASTK_TORCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* A tensor that an op takes or returns. */
typedef struct fastk_torch_tensor {
  /* Torch's name of its type: "float32". */
  const char *dtype;
  const int64_t *sizes;
  uint32_t rank;
} fastk_torch_tensor;

/* What an op calls. */
typedef struct fastk_torch_op {
  /* Of the op, in the namespace fastk: its schema, of tensors alone and without
   * an overload, is known to torch already. */
  const char *name;
  uint32_t num_inputs, num_outputs;
  /* Inputs, then outputs. Inputs are taken with any strides; outputs are new
   * and contiguous. */
  const fastk_torch_tensor *tensors;
  /* As dlopen() gave it: a library of --emit=so for the host, or for a GPU
   * libfastk_runtime. */
  void *library;
  /* The function of the host's library; null for a GPU. */
  const char *host_function;
  /* What fastk_find() found, and its fastk_workspace_bytes(); null for the
   * host. */
  void *gpu_function;
  uint64_t workspace_bytes;
} fastk_torch_op;

/* Lets torch call it, on tensors of the CPU or of a GPU. Returns 1, with a text
 * in fastk_torch_error(), where it cannot: then nothing is changed. */
int fastk_torch_define(const fastk_torch_op *op);

/* Why this thread's last fastk_torch_define() failed. */
const char *fastk_torch_error(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* FASTK_TORCH_FASTK_TORCH_H */
