/*===- fastk_runtime.h - The C API of libfastk_runtime ------------*- C -*-===*\
|*                                                                            *|
|* Part of fastk, under the Apache License v2.0 with LLVM Exceptions.         *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What a model that was compiled for a GPU calls, and what its caller says   *|
|* about streams and asks about errors. Every function may be called from any *|
|* thread. Nothing here ends the process: a function that fails returns 1 and *|
|* leaves a text.                                                             *|
|*                                                                            *|
|* A library of `fastk-opt --target=cuda:sm_90a --emit=so` exports for each   *|
|* function f of the model                                                    *|
|*                                                                            *|
|*   int f(const void *in0, ..., void *out0, ...);                            *|
|*   int f_packed(void **buffers);      the same pointers in an array         *|
|*   int fastk_prepare_f(void);         before a capture, or to pay early     *|
|*   void fastk_release_f(void);        gives back what f holds on the GPU    *|
|*   const char fastk_signature_f[];    JSON: types, target, workspace bytes  *|
|*                                                                            *|
|* Pointers are to memory of the GPU: contiguous, row-major, 16-byte aligned, *|
|* results apart from everything else. A call enqueues its work on the        *|
|* calling thread's stream and returns.                                       *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FASTK_RUNTIME_FASTK_RUNTIME_H
#define FASTK_RUNTIME_FASTK_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* --- What the caller of a model uses ------------------------------------- */

/* The CUstream (cudaStream_t) that calls of this thread enqueue on; null, as it
 * is at first, is the default stream. The stream belongs to the context that is
 * current when f is called; where none is, the first GPU's primary context
 * (that of the CUDA runtime and of PyTorch) is made current. */
void fastk_set_stream(void *stream);
void *fastk_get_stream(void);

/* What went wrong first on this thread since fastk_clear_error(): what failed,
 * why, what to do. Empty when nothing did; valid until the thread's next call
 * of this library. */
const char *fastk_last_error(void);
void fastk_clear_error(void);

/* --- What the code of a model uses ---------------------------------------- */

/* The structures below, and what a plan in them may hold. A function has the
 * lowest version that tells of all it holds, so that a runtime from before the
 * next one reads it, or names the version that it cannot read.
 *   1: steps are launches and memsets, at most 4096.
 *   2: steps may be repeated, and 2^20 of each list. */
#define FASTK_FUNCTION_VERSION 2

/* Device code: a cubin, or PTX. Launches name its entries `name::entry`. */
typedef struct fastk_image {
  const char *name;
  const void *data;
  uint64_t bytes;
} fastk_image;

/* Data of the model, copied to the GPU once: an operand of the plan behind the
 * function's own inputs. */
typedef struct fastk_constant {
  const void *data;
  uint64_t bytes;
} fastk_constant;

/* One function of a model. All but `state` is constant. */
typedef struct fastk_function {
  /* 1 to FASTK_FUNCTION_VERSION. */
  uint32_t version;
  uint32_t num_inputs, num_outputs;
  uint32_t num_images, num_constants;
  /* The function's name and its target, for messages. */
  const char *name, *target;
  /* The launches: a plan, format 1 (docs/formats/plan.md). */
  const char *plan;
  /* Sizes of the inputs, then of the outputs. */
  const uint64_t *bytes;
  const fastk_image *images;
  const fastk_constant *constants;
  /* The runtime's own; null at first. */
  void *state;
} fastk_function;

/* Loads the code into the current context and makes the workspace of the
 * thread's stream, unless both are there. After it a call on that stream
 * neither waits, allocates nor loads: it may be captured into a CUDA graph. A
 * captured call works in the workspace of the stream that it was captured on:
 * do not replay it beside calls on that stream. */
int fastk_prepare(fastk_function *function);

/* Enqueues the function on the thread's stream, prepared first if need be:
 * inputs, then outputs. Calls on different streams may overlap. */
int fastk_call(fastk_function *function, void *const *buffers);

/* Gives back code, constants and workspaces, in every context, after waiting
 * for what is under way there. Nobody may call the function meanwhile, nor
 * replay a graph with calls of it afterwards; the next call prepares again. */
void fastk_release(fastk_function *function);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* FASTK_RUNTIME_FASTK_RUNTIME_H */
