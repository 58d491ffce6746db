//===- made_up_gpus.c - A driver of GPUs that do nothing ------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libcuda.so.1 with which programs find GPUS NVIDIA H200 where none is. It
// answers what they are; all else fails.
//
//===----------------------------------------------------------------------===//

#include <stddef.h>
#include <string.h>

enum { Success = 0, Unknown = 999 };
enum { Major = 75, Minor = 76 };

static int answer(const char *symbol, void *result, long which) {
  if (!strcmp(symbol, "cuInit"))
    return Success;
  if (!strcmp(symbol, "cuDeviceGetName")) {
    strncpy(result, "NVIDIA H200", (size_t)which);
    return Success;
  }
  if (!strcmp(symbol, "cuDeviceTotalMem_v2")) {
    *(size_t *)result = (size_t)141 << 30;
    return Success;
  }
  int number;
  if (!strcmp(symbol, "cuDriverGetVersion"))
    number = 13000;
  else if (!strcmp(symbol, "cuDeviceGetCount"))
    number = GPUS;
  else if (!strcmp(symbol, "cuDeviceGet"))
    number = (int)which;
  else if (!strcmp(symbol, "cuDeviceGetAttribute"))
    number = which == Major ? 9 : which == Minor ? 0 : 1;
  else
    return Unknown;
  *(int *)result = number;
  return Success;
}

#define FASTK_DRIVER_FUNCTION(NAME, SYMBOL, ...)                               \
  int madeUp_##NAME(void *, long) __asm__(SYMBOL);                             \
  int madeUp_##NAME(void *result, long which) {                                \
    return answer(SYMBOL, result, which);                                      \
  }
#include "fastk/Cuda/DriverFunctions.def"
