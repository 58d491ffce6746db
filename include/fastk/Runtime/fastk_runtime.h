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
|*   int fastk_call_f(void **buffers, void *workspace);    with its workspace *|
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

/* --- Functions of models ------------------------------------------------- */

/* The layout of fastk_function. A library of another one is refused by name. */
#define FASTK_FUNCTION_VERSION 3

/* One function of a plan file (docs/formats/plan-file.md) in memory. A library
 * has one for each of its functions; fastk_find() gives those of a file. All
 * but `state` is constant, and the file outlives what was made of it. */
typedef struct fastk_function {
  /* FASTK_FUNCTION_VERSION. */
  uint32_t version;
  uint32_t reserved;
  const void *file;
  uint64_t bytes;
  /* Where it was in layouts 1 and 2: an error can name what it refuses. */
  const char *name;
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
 * inputs, then outputs. Calls on different streams may overlap. Of a function
 * with eight launches or more, the third call with the same buffers makes a
 * CUDA graph of them, and later ones launch that; FASTK_GRAPHS=0 in the
 * environment turns this off. In a capture of the caller's nothing changes. */
int fastk_call(fastk_function *function, void *const *buffers);

/* The same in scratch memory of the caller: fastk_workspace_bytes() of it,
 * 256-byte aligned, that nothing else uses until the work is done; may be null
 * where that is 0. The runtime then keeps none of its own, and calls on several
 * streams or in several graphs may overlap as their workspaces do not. Code is
 * loaded unless it is there (fastk_load). */
int fastk_call_with(fastk_function *function, void *const *buffers,
                    void *workspace);

/* Loads the code into the current context and makes no workspace: what
 * fastk_prepare() is to fastk_call(), for fastk_call_with(). */
int fastk_load(fastk_function *function);

/* Gives back code, constants and workspaces, in every context, after waiting
 * for what is under way there. Nobody may call the function meanwhile, nor
 * replay a graph with calls of it afterwards; the next call prepares again. */
void fastk_release(fastk_function *function);

/* Types and shapes as JSON, and the bytes of workspace that a call takes.
 * Neither needs a GPU. Null, and UINT64_MAX, where the function is none. */
const char *fastk_signature(fastk_function *function);
uint64_t fastk_workspace_bytes(fastk_function *function);

/* --- Plan files ----------------------------------------------------------- */

/* A file of `fastk-opt --emit=plan`. */
typedef struct fastk_model fastk_model;

/* Reads a file, or one that is in memory and outlives the model. Null where it
 * cannot be read, with a text in fastk_last_error(). Needs no GPU. */
fastk_model *fastk_open(const char *path);
fastk_model *fastk_open_memory(const void *file, uint64_t bytes);

/* Releases its functions as fastk_release() does, and frees it. */
void fastk_close(fastk_model *model);

/* As "cuda:sm_90a". */
const char *fastk_target(const fastk_model *model);
uint32_t fastk_num_functions(const fastk_model *model);
const char *fastk_function_name(const fastk_model *model, uint32_t number);

/* The function of that name; of "" or null the only one. Null, with a text that
 * lists what there is. It lives as long as the model. */
fastk_function *fastk_find(fastk_model *model, const char *name);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* FASTK_RUNTIME_FASTK_RUNTIME_H */
