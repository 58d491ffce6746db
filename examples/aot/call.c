/*===- call.c - Calls a compiled model from C ---------------------*- C -*-===*\
|* Part of fastk, under the Apache License v2.0 with LLVM Exceptions.         *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
\*===----------------------------------------------------------------------===*/

#include "model.h"
#include <stdio.h>
#include <stdlib.h>

/* Memory as the model wants it: the size of aligned_alloc is a multiple, too. */
static void *allocate(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64); }

static int fail(const char *function, const char *why) {
  fprintf(stderr, "%s: %s\n", function, why);
  return 1;
}

int main(void) {
  if (!fastk_matches_forward() || !fastk_matches_head())
    return fail("model.h", "describes another library");
  printf("compiled by fastk %s\n", fastk_version_forward);

  /* Static shapes: the header has the sizes. */
  float *x = allocate(FASTK_ELEMENTS_forward_in0 * sizeof *x);
  float *w = allocate(FASTK_ELEMENTS_forward_in1 * sizeof *w);
  float *y = allocate(FASTK_ELEMENTS_forward_out0 * sizeof *y);
  if (!x || !w || !y)
    return fail("main", "out of memory");
  for (int i = 0; i < FASTK_ELEMENTS_forward_in0; ++i)
    x[i] = (float)i;
  for (int i = 0; i < FASTK_ELEMENTS_forward_in1; ++i)
    w[i] = 1;
  int code = forward(x, w, y);
  if (code != FASTK_OK)
    return fail("forward", fastk_error_forward(code));
  printf("forward: %g %g\n", y[0], y[FASTK_ELEMENTS_forward_out0 - 1]);

  /* Sizes that the call decides: the result is memory for free(). */
  const int64_t rows[2] = {16, 2};
  int64_t n = 3, shape[2];
  float *part = NULL;
  code = head(x, rows, &n, &part, shape);
  if (code != FASTK_OK)
    return fail("head", fastk_error_head(code));
  printf("head: %d x %d, last %g\n", (int)shape[0], (int)shape[1],
         part[shape[0] * shape[1] - 1]);
  free(part);

  /* What the model refuses. */
  n = 17;
  code = head(x, rows, &n, &part, shape);
  printf("head of 17: %s: %s\n", code >= FASTK_MODEL_ERROR ? "model" : "other",
         fastk_error_head(code));
  free(x);
  free(w);
  free(y);
  return 0;
}
