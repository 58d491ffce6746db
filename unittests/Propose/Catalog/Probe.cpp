#include "fastk/Propose/Catalog/CKernel.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
using namespace mlir;
int main(int argc, char **argv) {
  DialectRegistry r; registerAllDialects(r); MLIRContext c(r);
  auto m = parseSourceFile<ModuleOp>(argv[1], &c);
  if (!m) return 1;
  func::FuncOp f = *m->getOps<func::FuncOp>().begin();
  fastk::catalog::Machine mach{64, 2, 48<<10, 1<<20, 32<<20};
  fastk::catalog::Parameters p;
  for (int i = 2; i < argc; ++i) { auto [k, v] = StringRef(argv[i]).split('='); int64_t n; if (v.getAsInteger(10, n)) return 2; if (k=="vb") mach.vectorBytes=n; else p[k.str()] = n; }
  auto k = fastk::catalog::emitCKernel(f.getBody().front(), mach, p);
  if (k.source.empty()) { llvm::errs() << "FAIL " << k.failure << "\n"; return 1; }
  llvm::outs() << k.source;
  llvm::errs() << "workspace=" << k.workspaceBytes << " stages:"; for (auto &s : k.stages) llvm::errs() << " " << s;
  llvm::errs() << " params:"; for (auto &[a,b] : k.parameters) llvm::errs() << " " << a << "=" << b; llvm::errs() << "\n";
}
