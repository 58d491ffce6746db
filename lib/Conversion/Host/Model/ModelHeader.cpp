//===- ModelHeader.cpp - The C header of a compiled model -----------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Conversion/ModelHeader.h"
#include "ModelInterface.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"

using namespace fastk;
using llvm::SmallVector;
using llvm::StringRef;
namespace json = llvm::json;

/// What every header of a model has, once however many are included.
static constexpr llvm::StringLiteral kCommon = R"(
#include <stdint.h>
#include <string.h>

#ifndef FASTK_MODEL_TYPES
#define FASTK_MODEL_TYPES
/* The bits of a 16-bit float: IEEE binary16, and the upper half of a binary32. */
typedef uint16_t fastk_f16;
typedef uint16_t fastk_bf16;
/* Laid out as C's and C++'s own complex numbers. */
typedef struct { float re, im; } fastk_complex64;
typedef struct { double re, im; } fastk_complex128;
/* What a function returns: 0, 1, or from 2 on an error of its model's own, which
 * fastk_error_<function> has the text of. */
#define FASTK_OK 0
#define FASTK_OUT_OF_MEMORY 1
#define FASTK_MODEL_ERROR 2
#endif
)";

static constexpr llvm::StringLiteral kGpuCommon = R"(
/* Of libfastk_runtime.so; fastk/Runtime/fastk_runtime.h says more. */
void fastk_set_stream(void *stream);
void *fastk_get_stream(void);
const char *fastk_last_error(void);
void fastk_clear_error(void);
)";

/// Keywords of C and of C++ that a model's function may be called; nothing of
/// that name can be declared.
static bool isKeyword(StringRef name) {
  static const llvm::StringSet<> keywords = {"alignas",
                                             "alignof",
                                             "and",
                                             "asm",
                                             "auto",
                                             "bitand",
                                             "bitor",
                                             "bool",
                                             "break",
                                             "case",
                                             "catch",
                                             "char",
                                             "class",
                                             "compl",
                                             "concept",
                                             "const",
                                             "constexpr",
                                             "continue",
                                             "decltype",
                                             "default",
                                             "delete",
                                             "do",
                                             "double",
                                             "else",
                                             "enum",
                                             "explicit",
                                             "export",
                                             "extern",
                                             "false",
                                             "float",
                                             "for",
                                             "friend",
                                             "goto",
                                             "if",
                                             "inline",
                                             "int",
                                             "long",
                                             "mutable",
                                             "namespace",
                                             "new",
                                             "noexcept",
                                             "not",
                                             "nullptr",
                                             "operator",
                                             "or",
                                             "private",
                                             "protected",
                                             "public",
                                             "register",
                                             "requires",
                                             "restrict",
                                             "return",
                                             "short",
                                             "signed",
                                             "sizeof",
                                             "static",
                                             "struct",
                                             "switch",
                                             "template",
                                             "this",
                                             "throw",
                                             "true",
                                             "try",
                                             "typedef",
                                             "typeid",
                                             "typename",
                                             "typeof",
                                             "union",
                                             "unsigned",
                                             "using",
                                             "virtual",
                                             "void",
                                             "volatile",
                                             "while",
                                             "xor",
                                             "main",
                                             "char8_t",
                                             "char16_t",
                                             "char32_t",
                                             "wchar_t",
                                             "co_await",
                                             "co_return",
                                             "co_yield",
                                             "consteval",
                                             "constinit",
                                             "const_cast",
                                             "dynamic_cast",
                                             "static_cast",
                                             "reinterpret_cast",
                                             "static_assert",
                                             "thread_local",
                                             "not_eq",
                                             "or_eq",
                                             "xor_eq",
                                             "and_eq"};
  return keywords.contains(name);
}

static bool isCName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) && !isKeyword(name) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The C type of an element; void where C has none.
static StringRef elementType(StringRef type) {
  return llvm::StringSwitch<StringRef>(type)
      .Case("f64", "double")
      .Case("f32", "float")
      .Case("f16", "fastk_f16")
      .Case("bf16", "fastk_bf16")
      .Cases({"i64", "si64"}, "int64_t")
      .Cases({"i32", "si32"}, "int32_t")
      .Cases({"i16", "si16"}, "int16_t")
      .Cases({"i8", "si8"}, "int8_t")
      .Case("ui64", "uint64_t")
      .Case("ui32", "uint32_t")
      .Case("ui16", "uint16_t")
      .Cases({"ui8", "i1"}, "uint8_t")
      .Case("complex<f32>", "fastk_complex64")
      .Case("complex<f64>", "fastk_complex128")
      .Default("void");
}

namespace {
/// An argument or a result, read from the signature.
struct Tensor {
  std::string name, dtype;
  SmallVector<int64_t> shape;
  bool isScalar = false;

  bool isDynamic() const { return llvm::is_contained(shape, -1); }
  /// "20x?xf32"
  std::string str() const {
    std::string text;
    for (int64_t size : shape)
      text += (size == -1 ? "?" : std::to_string(size)) + "x";
    return text + dtype;
  }
};

/// Writes one function of a model.
class FunctionWriter {
public:
  FunctionWriter(llvm::raw_ostream &os, const llvm::Module &model,
                 StringRef name, StringRef signature)
      : os(os), model(model), name(name), signature(signature) {}
  void write();

private:
  void read();
  SmallVector<std::string> parameters() const;
  void writeComment();
  void writeErrors();

  llvm::raw_ostream &os;
  const llvm::Module &model;
  StringRef name, signature, packed;
  SmallVector<Tensor> inputs, outputs;
  bool isForGpu = false;
};
} // namespace

/// Text inside of a comment: nothing in it ends the comment.
static std::string inComment(StringRef text) {
  std::string line;
  for (char c : text) {
    bool ends = c == '/' && !line.empty() && line.back() == '*';
    line += llvm::isPrint(c) ? std::string(ends ? " " : "") + c : " ";
  }
  return line;
}

void FunctionWriter::read() {
  llvm::Expected<json::Value> value = json::parse(signature);
  assert(value && "fastk wrote it");
  auto readAll = [&](StringRef key, StringRef prefix,
                     SmallVector<Tensor> &tensors) {
    for (auto [i, item] :
         llvm::enumerate(*value->getAsObject()->getArray(key))) {
      const json::Object &object = *item.getAsObject();
      Tensor tensor;
      tensor.name = (prefix + llvm::Twine(i)).str();
      tensor.dtype = object.getString("dtype")->str();
      tensor.isScalar = object.getBoolean("scalar").value_or(false);
      for (const json::Value &size : *object.getArray("shape"))
        tensor.shape.push_back(*size.getAsInteger());
      tensors.push_back(std::move(tensor));
    }
  };
  readAll("inputs", "in", inputs);
  readAll("outputs", "out", outputs);
  isForGpu = value->getAsObject()->getString("target").has_value();
  const llvm::Function *special =
      model.getFunction(("fastk_packed_" + name).str());
  packed = (special ? special : model.getFunction((name + "_packed").str()))
               ->getName();
}

SmallVector<std::string> FunctionWriter::parameters() const {
  SmallVector<std::string> list;
  for (const Tensor &tensor : inputs) {
    list.push_back(
        ("const " + elementType(tensor.dtype) + " *" + tensor.name).str());
    if (tensor.isDynamic())
      list.push_back("const int64_t *" + tensor.name + "_shape");
  }
  for (const Tensor &tensor : outputs) {
    StringRef star = tensor.isDynamic() ? " **" : " *";
    list.push_back((elementType(tensor.dtype) + star + tensor.name).str());
    if (tensor.isDynamic())
      list.push_back("int64_t *" + tensor.name + "_shape");
  }
  if (list.empty())
    list.push_back("void");
  return list;
}

void FunctionWriter::writeComment() {
  os << "\n/* " << inComment(name) << "\n *\n";
  for (const Tensor &tensor : llvm::concat<Tensor>(inputs, outputs)) {
    os << " *   " << tensor.name << "  " << tensor.str();
    if (tensor.isScalar)
      os << ", a number";
    if (tensor.isDynamic())
      os << (tensor.name[0] == 'i'
                 ? ", with its shape"
                 : ", made by the call: give it back with free(); its shape "
                   "goes to " +
                       tensor.name + "_shape");
    os << "\n";
  }
  os << " *\n * Pointers are to "
     << (isForGpu ? "memory of the GPU: contiguous, row-major, 16-byte aligned"
                  : "contiguous, row-major, 64-byte aligned memory")
     << ";\n * results apart from everything else.\n";
  if (isForGpu)
    os << " * Enqueues its work on the thread's stream. Returns 0, or 1 and "
          "leaves a text\n * in fastk_last_error().\n";
  else
    writeErrors();
  os << " */\n";
}

void FunctionWriter::writeErrors() {
  os << " * Returns 0, or the number of an error:\n";
  const llvm::NamedMDNode *errors =
      model.getNamedMetadata((kErrorsMetadata + name).str());
  if (!errors)
    return;
  for (auto [i, node] : llvm::enumerate(errors->operands()))
    os << " *   " << i + 1 << "  "
       << inComment(
              llvm::cast<llvm::MDString>(node->getOperand(0))->getString())
       << "\n";
}

void FunctionWriter::write() {
  read();
  writeComment();
  if (!isCName(name)) {
    os << "/* Its name is none of C and C++: look it up with dlsym. */\n";
    return;
  }
  os << "int " << name << "(";
  llvm::interleave(parameters(), os, ",\n    ");
  os << ");\n";
  // Of what has a static shape.
  for (const Tensor &tensor : llvm::concat<Tensor>(inputs, outputs)) {
    if (tensor.isDynamic())
      continue;
    int64_t count = 1;
    for (int64_t size : tensor.shape)
      count *= size;
    os << "#define FASTK_ELEMENTS_" << name << "_" << tensor.name << " INT64_C("
       << count << ")\n";
  }
  os << "/* The same pointers in an array. */\nint " << packed
     << "(void **pointers);\n";
  if (isForGpu)
    os << "/* With scratch memory of the caller: see \"workspace\" in the "
          "signature. */\nint fastk_call_"
       << name
       << "(void **pointers, void *workspace);\n/* Before a capture, or to pay "
          "early; and to give all of it back. */\n"
          "int fastk_prepare_"
       << name << "(void);\nvoid fastk_release_" << name << "(void);\n";
  else
    os << "/* The text of an error; \"\" for a number that is none. */\n"
          "const char *fastk_error_"
       << name << "(int code);\n";
  os << "/* Types and shapes as JSON; who compiled it; the calling "
        "convention's "
        "number. */\nextern const char fastk_signature_"
     << name << "[];\nextern const char fastk_version_" << name
     << "[];\nextern const int32_t fastk_interface_" << name
     << ";\n/* Whether the library is the one that this header describes. */\n"
        "static inline int fastk_matches_"
     << name << "(void) {\n  return fastk_interface_" << name
     << " == " << kInterfaceVersion << " &&\n         strcmp(fastk_signature_"
     << name << ",\n                \"";
  for (char c : signature)
    os << (c == '"' || c == '\\' ? "\\" : "") << c;
  os << "\") == 0;\n}\n";
}

/// The text of a constant; nothing for what is no text.
static std::optional<StringRef> textOf(const llvm::GlobalVariable &global) {
  auto *data =
      global.hasInitializer()
          ? llvm::dyn_cast<llvm::ConstantDataArray>(global.getInitializer())
          : nullptr;
  if (!data || !data->isCString())
    return std::nullopt;
  return data->getAsCString();
}

std::string fastk::emitCHeader(const llvm::Module &model, StringRef fileName) {
  std::string guard = "FASTK_MODEL_";
  for (char c : fileName)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/* A model compiled by fastk " << FASTK_VERSION
     << ". Made by a program: change the model instead. */\n#ifndef " << guard
     << "\n#define " << guard << "\n"
     << kCommon << "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  if (model.getFunction("fastk_call"))
    os << kGpuCommon;
  for (const llvm::GlobalVariable &global : model.globals()) {
    StringRef name = global.getName();
    if (!name.consume_front("fastk_signature_"))
      continue;
    if (auto signature = textOf(global))
      FunctionWriter(os, model, name, *signature).write();
  }
  os << "\n#ifdef __cplusplus\n}\n#endif\n#endif /* " << guard << " */\n";
  return text;
}
