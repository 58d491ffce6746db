# add_fastk_library(NAME sources... [NO_MLIR] [DEPENDS targets...] [LINK targets...])
# add_fastk_tool(NAME sources... [NO_MLIR] [MAIN FUNCTION] [LINK targets...])
# add_fastk_plugin(NAME sources... [LINK targets...])
# add_fastk_unittest(NAME sources... [NO_MLIR] [MEASURES SUITES] [COST SECONDS] [LINK targets...])
#
# Every target of fastk is made by one of these: they give it the warnings, the
# precompiled MLIR headers (24 s a translation unit without, 6 s with) and the
# MLIR libraries of the chosen link mode. NO_MLIR is for what must not depend on
# LLVM: the worker and all it is made of.

include(InstallFastk)

add_library(FastkWarnings INTERFACE)
target_compile_options(FastkWarnings INTERFACE
  -fno-exceptions -Wall -Wextra -Werror -Wno-unused-parameter)
# ccache may hand out a precompiled header that was made before a header was
# installed again: its content counts, not its time.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(FastkWarnings INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(FASTK_SANITIZE)
  target_compile_options(FastkWarnings INTERFACE
    -fsanitize=address,undefined -fno-sanitize=vptr -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(FastkWarnings INTERFACE -fsanitize=address,undefined)
endif()
if(FASTK_ENABLE_FUZZERS)
  target_compile_options(FastkWarnings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(FastkWarnings INTERFACE -fsanitize=fuzzer-no-link)
endif()
fastk_export(FastkWarnings)

include(SelfContained)
# The shared libraries. A plugin takes both from the program that loads it, and a
# self-contained program has them in itself.
add_library(FastkMLIR INTERFACE)
set(has_own "$<BOOL:$<TARGET_PROPERTY:FASTK_SELF_CONTAINED>>")
set(links "$<NOT:$<OR:${has_own},$<BOOL:$<TARGET_PROPERTY:FASTK_HOST_HAS_MLIR>>>>")
target_link_libraries(FastkMLIR INTERFACE $<${links}:MLIR> $<${links}:LLVM>
  "$<BUILD_INTERFACE:$<${has_own}:${FASTK_STATIC_MLIR_LIBS}>>")
fastk_export(FastkMLIR)

# The one precompiled header; every MLIR library reuses it.
file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp.in "// Holds the precompiled MLIR headers.\n")
configure_file(${CMAKE_BINARY_DIR}/pch.cpp.in ${CMAKE_BINARY_DIR}/pch.cpp COPYONLY)
add_library(FastkPCH STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
target_precompile_headers(FastkPCH PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../pch.h)
target_link_libraries(FastkPCH PRIVATE FastkWarnings)
set_target_properties(FastkPCH PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(FastkPCH PRIVATE -fPIC)
# One cache serves every checkout (the presets' launcher). But a precompiled header has
# the name of the folder that it was made in: each checkout makes its own, and to the
# cache it is what it was made from.
set_target_properties(FastkPCH PROPERTIES CXX_COMPILER_LAUNCHER "")
file(SHA256 ${CMAKE_CURRENT_LIST_DIR}/../pch.h fastk_pch_sum)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/CMakeFiles/FastkPCH.dir/cmake_pch.hxx.pch.sum
  CONTENT "${fastk_pch_sum} ${LLVM_PACKAGE_VERSION} ${CMAKE_CXX_COMPILER_VERSION}\n")

function(_fastk_configure target)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK;DEPENDS" ${ARGN})
  target_link_libraries(${target} PRIVATE FastkWarnings)
  # -fPIC for programs too, not -fPIE: a precompiled header serves one of them.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  # An archive of MLIR beside the shared library is a second copy of it in the program,
  # and brings the shared library into a self-contained one.
  foreach(lib ${ARG_LINK})
    if(lib MATCHES "^(MLIR|LLVM)")
      message(FATAL_ERROR "${target} links ${lib}: all of MLIR comes with FastkMLIR, "
        "which a library has unless it says NO_MLIR. Remove ${lib} from LINK.")
    endif()
  endforeach()
  if(ARG_LINK)
    target_link_libraries(${target} PUBLIC ${ARG_LINK})
  endif()
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${target} PUBLIC FastkMLIR)
    target_precompile_headers(${target} REUSE_FROM FastkPCH)
    add_dependencies(${target} FastkTableGen)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
endfunction()

function(_fastk_program name)
  _fastk_configure(${ARGV})
  if(FASTK_SANITIZE)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/SanitizerDefaults.cpp)
  endif()
  if(FASTK_STATIC_LLVM)
    fastk_self_contain(${name})
  endif()
endfunction()

function(add_fastk_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  _fastk_configure(${name} ${ARGN})
  fastk_export(${name})
endfunction()

# MAIN: the function of tools/Tools.h that is the program. All of it is a library,
# NAME-tool, of which several can be one program.
function(add_fastk_tool name)
  cmake_parse_arguments(ARG "NO_MLIR" "MAIN" "LINK;DEPENDS" ${ARGN})
  if(ARG_MAIN)
    add_library(${name}-tool STATIC ${ARG_UNPARSED_ARGUMENTS})
    _fastk_configure(${name}-tool ${ARGN})
    set(FASTK_MAIN ${ARG_MAIN})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/ToolMain.cpp.in ToolMain.cpp @ONLY)
    add_executable(${name} ${CMAKE_CURRENT_BINARY_DIR}/ToolMain.cpp)
    _fastk_program(${name} NO_MLIR LINK ${name}-tool)
  else()
    add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
    _fastk_program(${name} ${ARGN})
  endif()
  # Those of the tests stay at home.
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tools/")
    install(TARGETS ${name} DESTINATION bin COMPONENT programs)
  endif()
  set_property(GLOBAL APPEND PROPERTY FASTK_TOOLS ${name})
endfunction()

# What another program loads, NAME.so. It exports what its own sources do, and
# every symbol that is not its own is looked for when it is loaded, not later.
function(add_fastk_plugin name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PREFIX "" FASTK_HOST_HAS_MLIR ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  _fastk_configure(${name} ${ARGN})
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,-z,now)
  install(TARGETS ${name} DESTINATION lib COMPONENT programs)
  set_property(GLOBAL APPEND PROPERTY FASTK_TOOLS ${name})
endfunction()

# One GoogleTest program; `ninja check-fastk-unit` runs them all. MEASURES: the
# suites, as --gtest_filter takes them, that take times on this machine and run
# alone. COST: its seconds, if they are many; who takes longest comes first.
function(add_fastk_unittest name)
  cmake_parse_arguments(ARG "NO_MLIR" "MEASURES;COST" "LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  _fastk_program(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unittests)
  if(ARG_MEASURES)
    add_test(NAME ${name}-measures COMMAND ${name} --gtest_filter=${ARG_MEASURES})
    set_tests_properties(${name}-measures PROPERTIES RUN_SERIAL ON)
  endif()
  if(NOT ARG_MEASURES STREQUAL "*")
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=-${ARG_MEASURES})
    set_tests_properties(${name} PROPERTIES COST "0${ARG_COST}")
  endif()
  set_property(GLOBAL APPEND PROPERTY FASTK_UNITTESTS ${name})
endfunction()
