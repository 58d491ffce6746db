# Links MLIR and LLVM statically, with the X86 and NVPTX backends only: programs
# that run on machines without LLVM. Sets FASTK_STATIC_MLIR_LIBS.
#
# Every archive of MLIR names the imported target LLVM, which is the shared
# library, in its link interface. That target is made to mean the archives of
# the components below, so that no shared LLVM is linked beside them.
#
# MLIR's registerAll* functions do not link in this mode, for they want every
# backend; lib/Driver/RegisterMLIRStatic.cpp has the list that does.

llvm_map_components_to_libnames(fastk_llvm_libs
  core support irreader asmparser bitwriter linker passes ipo target mc
  frontendopenmp orcjit
  x86codegen x86asmparser x86desc x86info
  nvptxcodegen nvptxdesc nvptxinfo)

# The packages are RelWithDebInfo; another installation may have another name.
get_target_property(fastk_llvm_config LLVM IMPORTED_CONFIGURATIONS)
if(NOT fastk_llvm_config)
  message(FATAL_ERROR
    "FASTK_STATIC_LLVM: the LLVM at ${LLVM_DIR} has no shared library target to replace. "
    "Use the LLVM that scripts/install-deps.sh installs, or build with FASTK_STATIC_LLVM=OFF.")
endif()
list(GET fastk_llvm_config 0 fastk_llvm_config)
list(GET fastk_llvm_libs 0 fastk_llvm_first)
get_target_property(fastk_llvm_archive ${fastk_llvm_first} IMPORTED_LOCATION_${fastk_llvm_config})
if(NOT EXISTS "${fastk_llvm_archive}")
  message(FATAL_ERROR
    "FASTK_STATIC_LLVM: the archive of ${fastk_llvm_first} was not found (${fastk_llvm_archive}). "
    "Install the static LLVM libraries (scripts/install-deps.sh), or build with "
    "FASTK_STATIC_LLVM=OFF.")
endif()
set_target_properties(LLVM PROPERTIES
  IMPORTED_LOCATION_${fastk_llvm_config} "${fastk_llvm_archive}"
  IMPORTED_SONAME_${fastk_llvm_config} ""
  INTERFACE_LINK_LIBRARIES "${fastk_llvm_libs}")

get_property(FASTK_STATIC_MLIR_LIBS GLOBAL PROPERTY MLIR_ALL_LIBS)
# These want all of LLVM's backends.
list(REMOVE_ITEM FASTK_STATIC_MLIR_LIBS
  MLIRRegisterAllDialects MLIRRegisterAllExtensions MLIRRegisterAllPasses)
list(APPEND FASTK_STATIC_MLIR_LIBS MLIROptLib ${fastk_llvm_libs})
