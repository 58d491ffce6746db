//===- Npy.cpp - Tensors in NumPy's file format ---------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Runtime/Npy.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace fastk;
using llvm::StringRef;
using worker::ElementType;

static constexpr char kMagic[] = "\x93NUMPY";

static llvm::Error problem(StringRef path, const llvm::Twine &what) {
  return llvm::createStringError(path + ": " + what);
}

/// NumPy's name of a type, that of what it is written as where it has none.
static StringRef descriptor(ElementType type, bool isComplex) {
  if (isComplex)
    return type == ElementType::F64 ? "<c16" : "<c8";
  switch (type) {
  case ElementType::F64:
    return "<f8";
  case ElementType::F32:
  case ElementType::BF16:
    return "<f4";
  case ElementType::F16:
    return "<f2";
  case ElementType::I64:
    return "<i8";
  case ElementType::I32:
    return "<i4";
  case ElementType::I16:
    return "<i2";
  case ElementType::I8:
    return "|i1";
  case ElementType::I1:
    return "|b1";
  }
  return "";
}

/// The type of that name, without a shape.
static std::optional<TensorType> typeFor(StringRef descr) {
  for (bool isComplex : {true, false})
    for (ElementType type :
         {ElementType::F64, ElementType::F32, ElementType::F16,
          ElementType::I64, ElementType::I32, ElementType::I16, ElementType::I8,
          ElementType::I1})
      if (descriptor(type, isComplex) == descr)
        return TensorType{type, {}, isComplex};
  return std::nullopt;
}

llvm::Expected<HostTensor> fastk::readNpy(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return problem(path, file.getError().message());
  StringRef text = (*file)->getBuffer();
  if (!text.consume_front(StringRef(kMagic, 6)) || text.size() < 4)
    return problem(path, "not a .npy file (write it with numpy.save)");
  // Version 1 has a 16-bit header length, later ones 32 bits.
  unsigned lengthBytes = text[0] == 1 ? 2 : 4;
  if (text.size() < 2 + lengthBytes)
    return problem(path, "cut short in its header");
  uint64_t headerLength = 0;
  std::memcpy(&headerLength, text.data() + 2, lengthBytes);
  text = text.drop_front(2 + lengthBytes);
  if (headerLength > text.size())
    return problem(path, "cut short in its header");
  StringRef header = text.take_front(headerLength);
  StringRef data = text.drop_front(headerLength);

  llvm::SmallVector<StringRef, 2> match;
  if (!llvm::Regex("'descr': *'([^']*)'").match(header, &match))
    return problem(path, "has no simple element type in its header");
  StringRef descr = match[1];
  std::optional<TensorType> scalar = typeFor(descr);
  if (!scalar)
    return problem(path, "holds elements of type '" + descr +
                             "'; fastk reads f2, f4, f8, i1, i2, i4, i8, c8, "
                             "c16 little-endian and bool");
  if (!header.contains("'fortran_order': False"))
    return problem(path, "is in Fortran order; save "
                         "numpy.ascontiguousarray(array) instead");
  if (!llvm::Regex("'shape': *\\(([^)]*)\\)").match(header, &match))
    return problem(path, "has no shape in its header");
  TensorType type = *scalar;
  llvm::SmallVector<StringRef, 4> dims;
  match[1].split(dims, ',', -1, /*KeepEmpty=*/false);
  int64_t bytes = type.bytes();
  for (StringRef dim : dims) {
    int64_t extent;
    if (dim.trim().empty())
      continue;
    if (dim.trim().getAsInteger(10, extent) || extent < 0 ||
        llvm::MulOverflow(bytes, extent, bytes))
      return problem(path, "has an impossible shape (" + match[1] + ")");
    type.shape.push_back(extent);
  }
  if (data.size() != static_cast<uint64_t>(bytes))
    return problem(path, "holds " + llvm::Twine(data.size()) +
                             " bytes but its shape " + type.str() + " needs " +
                             llvm::Twine(bytes));
  HostTensor tensor(type);
  std::memcpy(tensor.data(), data.data(), data.size());
  return tensor;
}

llvm::Error fastk::writeNpy(StringRef path, const HostTensor &tensor) {
  const TensorType &type = tensor.type();
  std::string header =
      ("{'descr': '" + descriptor(type.element, type.isComplex) +
       "', 'fortran_order': False, 'shape': (")
          .str();
  for (int64_t dim : type.shape)
    header += std::to_string(dim) + ", ";
  header += "), }";
  // The data begins at a multiple of 64 bytes; the header ends in a newline.
  size_t prefix = 6 + 2 + 2;
  header.resize(llvm::alignTo(prefix + header.size() + 1, 64) - prefix - 1,
                ' ');
  header += '\n';

  llvm::Expected<llvm::sys::fs::TempFile> file =
      llvm::sys::fs::TempFile::create(path + ".%%%%%%");
  if (!file)
    return problem(path,
                   "cannot be written: " + llvm::toString(file.takeError()));
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  os << StringRef(kMagic, 6) << '\x01' << '\0' << char(header.size() & 0xff)
     << char(header.size() >> 8) << header;
  if (type.element == ElementType::BF16) {
    for (int64_t i = 0; i < type.elements(); ++i) {
      float value = static_cast<float>(tensor.load(i));
      os.write(reinterpret_cast<const char *>(&value), sizeof(value));
    }
  } else {
    os.write(static_cast<const char *>(tensor.data()), type.bytes());
  }
  os.flush();
  if (std::error_code ec = os.error()) {
    os.clear_error();
    llvm::consumeError(file->discard());
    return problem(path, "cannot be written: " + ec.message());
  }
  if (llvm::Error error = file->keep(path))
    return problem(path,
                   "cannot be written: " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}
