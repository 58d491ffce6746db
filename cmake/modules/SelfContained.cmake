# Programs that run on machines with glibc 2.34 and nothing else of what fastk is
# built from: MLIR and LLVM, with the X86 and NVPTX backends only, the C++ library
# and the libraries that these use are in them. All of FASTK_STATIC_LLVM are such,
# and in every build those of the wheel (tools/wheel).
#
# fastk_self_contain(TARGET): makes a program such a one, by the property
# FASTK_SELF_CONTAINED, which our libraries' links follow. What is compiled is the
# same, so both kinds of program are linked of the same archives.
#
# Sets FASTK_STATIC_MLIR_LIBS, empty where archives are missing.
#
# MLIR's registerAll* functions do not link in this mode, for they want every
# backend; lib/Driver/RegisterMLIRStatic.cpp has the list that does.

# fastk_archive_of(OUT TARGET): the file, or nothing.
function(fastk_archive_of out target)
  set(${out} "" PARENT_SCOPE)
  # The packages are RelWithDebInfo; another installation may have another name.
  get_target_property(configs ${target} IMPORTED_CONFIGURATIONS)
  if(configs)
    list(GET configs 0 config)
    get_target_property(file ${target} IMPORTED_LOCATION_${config})
    if(EXISTS "${file}")
      set(${out} ${file} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# fastk_static_llvm(OUT): the archives, files and all; order does not matter to
# lld. Or nothing, and the one that is missing in FASTK_MISSING_ARCHIVE.
#
# Every archive of MLIR names the imported target LLVM in its link interface, which
# is the shared library; so the files are named, not the targets.
function(fastk_static_llvm out)
  set(${out} "" PARENT_SCOPE)
  # MLIR's list has shared runtimes too, which its runner loads and fastk does not
  # use, and the archives that want all of LLVM's backends.
  set(waiting MLIROptLib)
  get_property(mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(lib ${mlir_libs})
    if(TARGET ${lib} AND NOT lib MATCHES "^MLIRRegisterAll|ExecutionEngine$|^MLIRCAPI")
      get_target_property(type ${lib} TYPE)
      if(type STREQUAL STATIC_LIBRARY)
        list(APPEND waiting ${lib})
      endif()
    endif()
  endforeach()
  llvm_map_components_to_libnames(llvm_libs
    core support irreader asmparser bitwriter linker passes ipo target mc
    frontendopenmp orcjit supportlsp
    x86codegen x86asmparser x86desc x86info
    nvptxcodegen nvptxdesc nvptxinfo)
  list(APPEND waiting ${llvm_libs})
  set(seen)
  set(files)
  while(waiting)
    list(POP_FRONT waiting lib)
    if(lib IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${lib})
    fastk_archive_of(file ${lib})
    if(NOT file)
      set(FASTK_MISSING_ARCHIVE ${lib} PARENT_SCOPE)
      return()
    endif()
    list(APPEND files ${file})
    if(lib MATCHES "^LLVM")
      get_target_property(uses ${lib} INTERFACE_LINK_LIBRARIES)
      string(REGEX REPLACE "\\\$<LINK_ONLY:([^>]*)>" "\\1" uses "${uses}")
      list(FILTER uses INCLUDE REGEX "^LLVM.")
      list(APPEND waiting ${uses})
    endif()
  endwhile()
  # What LLVM's Support uses; libxml2, libedit and libz3 are for parts that are not
  # linked.
  foreach(name z zstd)
    find_library(FASTK_STATIC_${name} lib${name}.a)
    if(NOT FASTK_STATIC_${name})
      set(FASTK_MISSING_ARCHIVE lib${name}.a PARENT_SCOPE)
      return()
    endif()
    list(APPEND files ${FASTK_STATIC_${name}})
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

fastk_static_llvm(FASTK_STATIC_MLIR_LIBS)
if(FASTK_STATIC_LLVM AND NOT FASTK_STATIC_MLIR_LIBS)
  message(FATAL_ERROR
    "FASTK_STATIC_LLVM: the archive of ${FASTK_MISSING_ARCHIVE} was not found. Install the "
    "static libraries (scripts/install-deps.sh), or build with FASTK_STATIC_LLVM=OFF.")
endif()

function(fastk_self_contain target)
  set_target_properties(${target} PROPERTIES FASTK_SELF_CONTAINED ON
    # bin and lib are copied together.
    INSTALL_RPATH "$ORIGIN/../lib" BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH_USE_LINK_PATH OFF)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Arc4Random.cpp)
  # Not libgcc: its archive wants glibc 2.35, and the library is wherever glibc is.
  target_link_options(${target} PRIVATE -static-libstdc++
    # What is not reached goes, symbols too: the programs are to be copied.
    -Wl,--gc-sections -Wl,--as-needed -Wl,--strip-all)
endfunction()
