# Writes the texts of the files FILES (separated by |) into the C++ file OUTPUT,
# as string literals short enough for every compiler.
string(REPLACE "|" ";" files "${FILES}")
set(code "// Generated from Prompts/*.md.\n#include \"EmbeddedPrompts.h\"\n"
  "const std::map<std::string, std::string> &fastk::embeddedPrompts() {\n"
  "  static const std::map<std::string, std::string> texts = {\n")
file(WRITE ${OUTPUT} ${code})
foreach(path ${files})
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" text)
  string(LENGTH "${text}" length)
  file(APPEND ${OUTPUT} "{\"${name}\",\n")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 4000 part)
    file(APPEND ${OUTPUT} "  R\"fastk~(${part})fastk~\"\n")
    math(EXPR at "${at} + 4000")
  endwhile()
  file(APPEND ${OUTPUT} "},\n")
endforeach()
file(APPEND ${OUTPUT} "};\n  return texts;\n}\n")
