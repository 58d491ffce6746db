//===- Bytes.cpp - Requests and results as bytes --------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bytes.h"

using namespace fastk::cuda;

std::string fastk::cuda::toBytes(const CompileResult &result) {
  ByteWriter out;
  out.text(result.error);
  out.text(result.cubin);
  out.text(result.ptx);
  out.text(result.log);
  out.text(result.nvrtcVersion);
  out.number(uint64_t(result.milliseconds * 1000));
  return std::move(out.bytes);
}

bool fastk::cuda::fromBytes(std::string_view bytes, CompileResult &result) {
  ByteReader in(bytes);
  result = CompileResult();
  result.error = in.text();
  result.cubin = in.text();
  result.ptx = in.text();
  result.log = in.text();
  result.nvrtcVersion = in.text();
  result.milliseconds = double(in.number()) / 1000;
  if (!in.complete())
    return false;
  parseCompilerLog(result.log, result.kernels, result.warnings);
  return true;
}

std::string fastk::cuda::toBytes(const CompileRequest &request) {
  ByteWriter out;
  out.text(request.source);
  out.text(request.arch);
  out.number(request.defines.size());
  for (const auto &[name, value] : request.defines) {
    out.text(name);
    out.text(value);
  }
  out.number(request.prelude);
  out.number(request.fastMath);
  out.number(request.maxRegisters);
  out.number(request.headers.size());
  for (const auto &[name, text] : request.headers) {
    out.text(name);
    out.text(text);
  }
  return std::move(out.bytes);
}

bool fastk::cuda::fromBytes(std::string_view bytes, CompileRequest &request) {
  ByteReader in(bytes);
  request = CompileRequest();
  request.source = in.text();
  request.arch = in.text();
  for (uint64_t left = in.count(16); left > 0; --left) {
    std::string name = in.text();
    request.defines.push_back({name, in.text()});
  }
  request.prelude = in.number();
  request.fastMath = in.number();
  request.maxRegisters = unsigned(in.number());
  for (uint64_t left = in.count(16); left > 0; --left) {
    std::string name = in.text();
    request.headers[name] = in.text();
  }
  return in.complete();
}
