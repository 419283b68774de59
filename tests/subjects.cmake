# Nobody reads meaning out of a sentence: errors say what they are about (Status::subject). Run: cmake -D SOURCE=. -P
# tests/subjects.cmake

cmake_minimum_required(VERSION 3.25)

set(violations "")
file(GLOB_RECURSE files "${SOURCE}/engine/*.h" "${SOURCE}/engine/*.cpp" "${SOURCE}/shell/*.h" "${SOURCE}/shell/*.cpp")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name "${SOURCE}" "${file}")
  file(STRINGS "${file}" searches
       REGEX "(message|hint)\\(\\)(\\.(find|rfind|starts_with|ends_with|contains|compare)\\(| ==| !=)")
  foreach(line IN LISTS searches)
    list(APPEND violations "${name}: ${line}")
  endforeach()
endforeach()
if(violations)
  list(JOIN violations "\n  " text)
  message(FATAL_ERROR "Searches in the sentence of an error; ask for its subject:\n  ${text}")
endif()
