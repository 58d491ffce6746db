//===- FormatSeconds.cpp - Times as a reader wants them -------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/System/FormatSeconds.h"
#include <cstdio>

std::string fastk::formatSeconds(double seconds) {
  if (!(seconds > 0))
    return "-";
  const char *units[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  int unit = 0;
  while (value >= 999.5 && unit < 3) {
    value /= 1000;
    ++unit;
  }
  int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  char text[64];
  snprintf(text, sizeof text, "%.*f %s", decimals, value, units[unit]);
  return text;
}
