//===- LoadWinner.cpp - Reading one winner in full ------------------------===//
//
// Part of fastk, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fastk/Bank/Bank.h"
#include "fastk/Support/DurableFile.h"
#include "fastk/Support/Nesting.h"
#include "fastk/Support/Sha256.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

using namespace mlir;
using namespace fastk;

/// Far above any program or pattern; a bound for what a stray file may cost.
static constexpr size_t kFileLimit = 64 << 20;

static llvm::Error stale(const Twine &reason) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument), reason);
}

/// The same of what was right once: whoever has it can restore it.
static llvm::Error edited(const Twine &reason) {
  return llvm::createStringError(std::make_error_code(std::errc::bad_message),
                                 reason + "; restore the file or search again");
}

/// A program is a plain file of the winner's own folder.
static bool isPlainName(StringRef name) {
  return !name.empty() && !name.starts_with(".") && name != "lowering.mlir" &&
         !name.contains('/') && !name.contains('\0');
}

static StringRef majorMinor(StringRef version) {
  size_t dot = version.find('.');
  if (dot == StringRef::npos)
    return version;
  return version.take_front(version.find('.', dot + 1));
}

/// The first op of linalg in `text` that no pattern has; "" when there is none.
/// Named ops have syntaxes of their own, and MLIR's readers of some of them do
/// not survive what is wrong with it.
static StringRef findNamedOp(StringRef text) {
  bool inWord = false;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = text.drop_front(at);
    if (text[at] == '"') {
      // Ideas tell of what they like.
      for (++at; at < text.size() && text[at] != '"'; ++at)
        at += text[at] == '\\';
    } else if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (!inWord && rest.starts_with("linalg.")) {
      StringRef op = rest.take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
      if (op != "linalg.generic" && op != "linalg.yield" &&
          op != "linalg.index")
        return op;
    }
    // Within a longer word it is no op.
    inWord = at < text.size() &&
             (llvm::isAlnum(text[at]) || StringRef("_.$").contains(text[at]));
  }
  return "";
}

/// One attempt. Sets `retry` when another process may have replaced the winner
/// between the reading of its files.
static llvm::Expected<std::unique_ptr<Winner>>
loadOnce(StringRef folder, MLIRContext *context, bool &retry) {
  // All files are read through one descriptor of the folder: a winner that is
  // exchanged meanwhile cannot lend its files to this one.
  int descriptor = ::open(folder.str().c_str(),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0)
    return fileError(folder, "open", errno);
  llvm::scope_exit close([&] { ::close(descriptor); });
  auto nameOf = [&](StringRef file) {
    SmallString<256> path(folder);
    llvm::sys::path::append(path, file);
    return path.str().str();
  };
  std::string path = nameOf("lowering.mlir");
  llvm::Expected<std::string> text =
      readRegularFile(descriptor, "lowering.mlir", path, kFileLimit);
  if (!text) {
    retry = true;
    return text.takeError();
  }

  // The head first: it gives the reason in plain words where MLIR could only
  // say what it cannot parse.
  llvm::Expected<WinnerHeader> header = parseWinnerHeader(*text);
  if (!header)
    return stale(path + ": " + llvm::toString(header.takeError()));
  if (header->formatVersion != LoweringOp::kFormatVersion)
    return stale(path + ": has format version " + Twine(header->formatVersion) +
                 ", this fastk reads version " +
                 Twine(LoweringOp::kFormatVersion) +
                 "; search again, or use the fastk that wrote it");
  if (!header->mlirVersion.empty() &&
      majorMinor(header->mlirVersion) != majorMinor(LLVM_VERSION_STRING))
    return stale(path + ": was validated with MLIR " + header->mlirVersion +
                 ", this is MLIR " LLVM_VERSION_STRING "; search again");

  if (!header->hasTime())
    return stale(path + ": " + header->timeProblem());

  // Before MLIR's parser, which trusts its input more than a bank deserves.
  if (isNestedDeeper(*text))
    return edited(path + ": is nested more than " + Twine(kDeepestNesting) +
                  " deep, and fastk writes no such file");
  if (StringRef op = findNamedOp(*text); !op.empty())
    return edited(path + ": holds '" + op +
                  "', and a pattern in canonical form has linalg.generic "
                  "alone");

  std::string diagnostics;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      // The first error is the cause; what follows are consequences.
      if (diagnostics.empty() &&
          diagnostic.getSeverity() == DiagnosticSeverity::Error) {
        llvm::raw_string_ostream os(diagnostics);
        if (auto loc = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
          os << path << ":" << loc.getLine() << ":" << loc.getColumn() << ": ";
        else
          os << path << ": ";
        os << diagnostic;
      }
      return success();
    });
    module = parseSourceString<ModuleOp>(*text, ParserConfig(context), path);
  }
  if (!module)
    return stale(diagnostics.empty() ? path + ": does not parse" : diagnostics);
  auto &ops = module->getBody()->getOperations();
  if (!llvm::hasSingleElement(ops) || !isa<LoweringOp>(ops.front()))
    return stale(path + ": must hold one fastk.lowering and nothing else");

  auto winner = std::make_unique<Winner>();
  winner->module = std::move(module);
  winner->folder = folder.str();
  LoweringOp lowering = winner->getLowering();
  if (lowering.getSource())
    return stale(path + ": carries its program in 'source'; a bank keeps it in "
                        "a file of its own");
  if (lowering.getLanguage() == Language::generic)
    return winner;
  if (!lowering.getSeal())
    return stale(path +
                 ": has no seal over what was proved of it; search again");
  StringRef file = *lowering.getFile();
  if (!isPlainName(file))
    return stale(path + ": program file '" + file +
                 "' is not a plain name in the winner's folder");
  std::string programPath = nameOf(file);
  llvm::Expected<std::string> program =
      readRegularFile(descriptor, file, programPath, kFileLimit);
  if (!program) {
    retry = true;
    return program.takeError();
  }
  std::string digest = sha256(*program);
  if (digest != *lowering.getDigest())
    return edited(programPath + ": was edited or cut: its digest is " + digest +
                  ", validated was " + *lowering.getDigest());
  lowering.setSource(*program);
  return winner;
}

llvm::Expected<std::unique_ptr<Winner>> Bank::load(StringRef folder,
                                                   MLIRContext *context) {
  for (int attempt = 0;; ++attempt) {
    bool retry = false;
    llvm::Expected<std::unique_ptr<Winner>> winner =
        loadOnce(folder, context, retry);
    if (winner || !retry || attempt == 3)
      return winner;
    llvm::consumeError(winner.takeError());
  }
}
