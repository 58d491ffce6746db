# What `cmake --install` copies, and what find_package(fastk) finds there:
# docs/plugins.md. Two components: `programs` and `development`.

set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
if(NOT FASTK_STATIC_LLVM)
  # Where MLIR's and LLVM's shared libraries are.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# fastk_export(TARGET): a library of the package. FastkTransforms is
# fastk::Transforms there.
function(fastk_export target)
  # A static build's link interface is a list of archives that only this build
  # knows.
  if(FASTK_STATIC_LLVM)
    return()
  endif()
  string(REGEX REPLACE "^Fastk" "" short ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${short})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:include>)
  install(TARGETS ${target} EXPORT fastkTargets DESTINATION lib COMPONENT development)
endfunction()

# fastk_install_package(): the headers and CMake's files. Call it last.
function(fastk_install_package)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/families ${PROJECT_SOURCE_DIR}/winners
          DESTINATION share/fastk COMPONENT programs)
  install(FILES ${PROJECT_SOURCE_DIR}/include/fastk/Runtime/fastk_runtime.h
    DESTINATION include/fastk/Runtime COMPONENT programs)
  if(FASTK_STATIC_LLVM)
    return()
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fastk DESTINATION include
    COMPONENT development
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/include/fastk DESTINATION include
    COMPONENT development
    FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
  set(destination lib/cmake/fastk)
  install(EXPORT fastkTargets NAMESPACE fastk:: DESTINATION ${destination}
    COMPONENT development)
  include(CMakePackageConfigHelpers)
  set(folder ${PROJECT_BINARY_DIR}/cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fastkConfig.cmake.in
    ${folder}/fastkConfig.cmake INSTALL_DESTINATION ${destination})
  write_basic_package_version_file(${folder}/fastkConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${folder}/fastkConfig.cmake ${folder}/fastkConfigVersion.cmake
    DESTINATION ${destination} COMPONENT development)
endfunction()
