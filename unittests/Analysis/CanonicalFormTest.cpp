//===- CanonicalFormTest.cpp - The canonical form of a workload -----------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkloadFixture.h"
#include "gtest/gtest.h"
TEST(CanonicalForm, placeholder) {}
