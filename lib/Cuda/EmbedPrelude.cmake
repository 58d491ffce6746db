# Writes the text of INPUT into the C++ file OUTPUT, as string literals short
# enough for every compiler.
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(literals "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 4000 part)
  string(APPEND literals "  R\"fastk~(${part})fastk~\"\n")
  math(EXPR at "${at} + 4000")
endwhile()
file(WRITE ${OUTPUT} "// Generated from Prelude/fastk_prelude.cuh.\n"
  "#include \"fastk/Cuda/Nvrtc.h\"\n"
  "const std::string &fastk::cuda::preludeText() {\n"
  "  static const std::string text =\n${literals};\n  return text;\n}\n")
