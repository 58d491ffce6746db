# fastk_man_pages(TARGET FOLDER [ALL] NAME=PROGRAM...)
#
# A target that makes FOLDER/NAME.1 of what the target PROGRAM says when it is called
# as NAME with --help. They are made with the programs, so none is older than its own.
# The paths are in TARGET_PAGES.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(fastk_man_pages target folder)
  cmake_parse_arguments(ARG "ALL" "" "" ${ARGN})
  set(all)
  if(ARG_ALL)
    set(all ALL)
  endif()
  set(script ${PROJECT_SOURCE_DIR}/scripts/make-man-page.py)
  set(pages)
  foreach(pair ${ARG_UNPARSED_ARGUMENTS})
    string(REGEX MATCH "(.+)=(.+)" pair ${pair})
    set(name ${CMAKE_MATCH_1})
    set(program ${CMAKE_MATCH_2})
    set(page ${folder}/${name}.1)
    add_custom_command(OUTPUT ${page}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${Python3_EXECUTABLE} ${script} $<TARGET_FILE:${program}> ${name}
              --release ${PROJECT_VERSION} -o ${page}
      DEPENDS ${program} ${script} COMMENT "Making ${name}.1" VERBATIM)
    list(APPEND pages ${page})
  endforeach()
  add_custom_target(${target} ${all} DEPENDS ${pages})
  set(${target}_PAGES ${pages} PARENT_SCOPE)
endfunction()
