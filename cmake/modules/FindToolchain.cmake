# MLIR, LLVM and clang of exactly the major.minor version that fastk is written
# for. MLIR's C++ API and textual IR change with every release, so any other
# version is refused here rather than in the middle of a build.

set(FASTK_LLVM_VERSION 22.1)
find_package(MLIR ${FASTK_LLVM_VERSION} CONFIG QUIET)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR ${FASTK_LLVM_VERSION} was not found (considered: ${MLIR_CONSIDERED_CONFIGS}, "
    "versions: ${MLIR_CONSIDERED_VERSIONS}). Run scripts/install-deps.sh, or pass "
    "-DMLIR_DIR=<prefix>/lib/cmake/mlir of an LLVM ${FASTK_LLVM_VERSION} installation.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION}: ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
if(NOT FASTK_STATIC_LLVM)
  set(MLIR_LINK_MLIR_DYLIB ON)
endif()
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR}) # where add_mlir_doc writes
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(LLVM_EXTERNAL_LIT ${LLVM_TOOLS_BINARY_DIR}/lit) # llvm-lit is not packaged
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

find_package(nlohmann_json 3.11 REQUIRED)
