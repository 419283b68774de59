# Every test file belongs to a target: a *_test.cpp or *_fuzz.cpp that no CMakeLists.txt names would never run.
# Run: cmake -D SOURCE=. -P tests/complete.cmake

cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE lists "${SOURCE}/tests/CMakeLists.txt")
set(named "")
foreach(list_file IN LISTS lists)
  file(READ "${list_file}" content)
  string(APPEND named "${content}")
endforeach()
file(GLOB_RECURSE tests "${SOURCE}/tests/*_test.cpp" "${SOURCE}/tests/*_fuzz.cpp")
set(forgotten "")
foreach(test IN LISTS tests)
  get_filename_component(stem "${test}" NAME_WE)
  string(FIND "${named}" "${stem}" at)
  if(at EQUAL -1)
    list(APPEND forgotten "${test}")
  endif()
endforeach()
if(forgotten)
  list(JOIN forgotten "\n  " text)
  message(FATAL_ERROR "in no target:\n  ${text}")
endif()
