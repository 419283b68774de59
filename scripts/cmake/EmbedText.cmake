# Writes OUTPUT, a C++ file with a function of namespace berth that returns the text of a file.
# Run: cmake -D INPUT=runner.sh -D OUTPUT=runner.cpp -D HEADER=engine/exec/x.h -D FUNCTION=runner -P EmbedText.cmake
cmake_minimum_required(VERSION 3.25)
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "// Made from ${FUNCTION}'s file by scripts/cmake/EmbedText.cmake.\n#include \"${HEADER}\"\n\nnamespace berth {\n\n\
std::string_view ${FUNCTION}() { return R\"berth_text(${text})berth_text\"; }\n\n}  // namespace berth\n")
