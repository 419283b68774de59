# Compiler settings and the two functions every folder uses.
#
#   berth_library(name SOURCES a.cpp b.cpp DEPENDS berth_base fmt::fmt)   one static library per engine folder, berth::<name> to users
#   berth_test(name SOURCES x_test.cpp DEPENDS berth_model LABELS fast)   one GoogleTest program, registered with ctest;
#                                                                          ALONE = no other test beside it

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

option(BERTH_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
option(BERTH_COVERAGE "Build for gcov" OFF)
option(BERTH_LIBFUZZER "Build the fuzz targets with libFuzzer (clang)" OFF)
option(BERTH_BENCH "Build the benchmarks" ON)
option(BERTH_UNITY "Compile each library in units of many files" ON)
set(BERTH_UNITY_BATCH 0 CACHE STRING "Files of a unit; 0 = all of a library. Smaller ones rebuild faster")
option(BERTH_PRECOMPILED_HEADERS "Read the standard library's and the tests' headers once" ON)
set(BERTH_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, comma separated")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  # What ccache asks for where headers are precompiled; paths are told from the top, so that checkouts share results.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${BERTH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(zstd 1.5 REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(BERTH_LUA REQUIRED IMPORTED_TARGET GLOBAL lua5.4)

add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
target_compile_features(berth_options INTERFACE cxx_std_20)
# No FMA contraction: fgd's scores are truncated, so the last bit of a sum decides (see engine/policy/fgd_score.h).
target_compile_options(berth_options INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: a wrong warning about std::string's operator+ when it is inlined.
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-Wno-restrict>)
  # And one about boost's small_vector, of which it takes the inline storage for all there is (GCC bug 107852 and kin).
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-Wno-stringop-overread>)
endif()
if(BERTH_WARNINGS_AS_ERRORS)
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(BERTH_SANITIZE)
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer>)
  target_link_options(berth_options INTERFACE $<BUILD_INTERFACE:-fsanitize=${BERTH_SANITIZE}>)
  if(BERTH_SANITIZE MATCHES "undefined")
    target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-fno-sanitize-recover=undefined>)
  endif()
endif()
if(BERTH_COVERAGE)
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:--coverage>)
  target_link_options(berth_options INTERFACE $<BUILD_INTERFACE:--coverage>)
endif()
if(BERTH_LIBFUZZER)
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined>)
  target_link_options(berth_options INTERFACE $<BUILD_INTERFACE:-fsanitize=address,undefined>)
endif()

if(BERTH_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # -fpch-preprocess: ccache hashes what was precompiled, too.
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-fpch-preprocess>)
endif()

# berth_precompile(headers <h>...) makes a set of precompiled headers; berth_use_precompiled(target headers) uses it.
function(berth_precompile name)
  if(NOT BERTH_PRECOMPILED_HEADERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPENDS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE berth_options ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()
function(berth_use_precompiled target name)
  if(BERTH_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} REUSE_FROM ${name})
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # Of precompiled headers it forgets that they are the system's, and takes operator+ of strings for an overflow.
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Wno-stringop-overflow;-Wno-array-bounds>)
    endif()
  endif()
endfunction()
if(NOT BERTH_UNITY)
  berth_precompile(precompiled_standard DEPENDS fmt::fmt
  HEADERS <algorithm> <array> <chrono> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <span>
    <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
endif()

function(berth_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(berth_${name} STATIC ${ARG_SOURCES})
  add_library(berth::${name} ALIAS berth_${name})
  set_target_properties(berth_${name} PROPERTIES EXPORT_NAME ${name} UNITY_BUILD ${BERTH_UNITY}
    UNITY_BUILD_BATCH_SIZE ${BERTH_UNITY_BATCH})
  target_link_libraries(berth_${name} PUBLIC berth_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  if(NOT BERTH_UNITY)  # a unit of many files reads them once anyway
    berth_use_precompiled(berth_${name} precompiled_standard)
  endif()
  set_property(GLOBAL APPEND PROPERTY BERTH_LIBRARIES berth_${name})
endfunction()

# Seconds that a test may take; under sanitizers all is slower.
function(berth_limit_time name seconds)
  if(BERTH_SANITIZE)
    math(EXPR seconds "${seconds} * 10")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds})
endfunction()

function(berth_test name)
  cmake_parse_arguments(ARG "ALONE" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  berth_use_precompiled(${name} precompiled_tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  berth_limit_time(${name} ${ARG_TIMEOUT})
  if(ARG_ALONE)  # it watches other processes against the clock
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()
