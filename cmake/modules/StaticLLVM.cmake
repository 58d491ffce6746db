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

# MLIR's list has shared runtimes too, which its runner loads and fastk does not
# use, and the archives that want all of LLVM's backends.
set(FASTK_STATIC_MLIR_LIBS)
get_property(fastk_mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib ${fastk_mlir_libs} MLIROptLib)
  get_target_property(type ${lib} TYPE)
  if(type STREQUAL STATIC_LIBRARY AND NOT lib MATCHES "^MLIRRegisterAll|ExecutionEngine|^MLIRCAPI")
    list(APPEND FASTK_STATIC_MLIR_LIBS ${lib})
  endif()
endforeach()
list(REMOVE_DUPLICATES FASTK_STATIC_MLIR_LIBS)
list(APPEND FASTK_STATIC_MLIR_LIBS ${fastk_llvm_libs})

# What is not reached goes, symbols too: the programs are to be copied.
add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,--strip-all)
set(CMAKE_SKIP_BUILD_RPATH ON)
