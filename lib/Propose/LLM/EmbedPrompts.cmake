# Writes the texts of the files FILES (separated by |), and the sections of the
# page HEADERS that tell what headers of families have, into the C++ file OUTPUT,
# as string literals short enough for every compiler.
string(REPLACE "|" ";" files "${FILES}")
set(code "// Generated from Prompts/*.md.\n#include \"EmbeddedPrompts.h\"\n"
  "const std::map<std::string, std::string> &fastk::embeddedPrompts() {\n"
  "  static const std::map<std::string, std::string> texts = {\n")
file(WRITE ${OUTPUT} ${code})

function(embed name text)
  string(LENGTH "${text}" length)
  file(APPEND ${OUTPUT} "{\"${name}\",\n")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 4000 part)
    file(APPEND ${OUTPUT} "  R\"fastk~(${part})fastk~\"\n")
    math(EXPR at "${at} + 4000")
  endwhile()
  file(APPEND ${OUTPUT} "},\n")
endfunction()

# The section that begins with the heading, one level deeper, under that name.
function(embed_section name heading page)
  string(FIND "${page}" "\n## ${heading}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${HEADERS} has no section '${heading}'")
  endif()
  math(EXPR begin "${begin} + 1")
  string(SUBSTRING "${page}" ${begin} -1 section)
  string(FIND "${section}" "\n## " end)
  if(NOT end EQUAL -1)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${section}" 0 ${end} section)
  endif()
  embed(${name} "#${section}")
endfunction()

foreach(path ${files})
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" text)
  embed(${name} "${text}")
endforeach()

file(READ "${HEADERS}" page)
embed_section(core-headers "What headers have in common" "${page}")
# "## The header of a contraction" tells of the core "contraction".
string(REGEX MATCHALL "\n## The header of [a-z ]+" headings "${page}")
foreach(heading ${headings})
  string(REGEX REPLACE "\n## " "" heading "${heading}")
  string(REGEX REPLACE "The header of (a )?([a-z]+).*" "\\2" name "${heading}")
  embed_section(core-${name} "${heading}" "${page}")
endforeach()
file(APPEND ${OUTPUT} "};\n  return texts;\n}\n")
