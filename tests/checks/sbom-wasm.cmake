# sbom-wasm.cmake: the bill of materials of the npm package lists the libraries that its WebAssembly is linked from, no less and no more.
#
# usage: cmake -DSBOM=FILE -DMAP=FILE -P sbom-wasm.cmake   MAP: the linker's
cmake_minimum_required(VERSION 3.20)
file(READ "${SBOM}" text)
string(JSON count LENGTH "${text}" components)
math(EXPR last "${count} - 1")
set(listed)
foreach(i RANGE ${last})
    string(JSON name GET "${text}" components ${i} properties 1 value)
    list(APPEND listed "${name}")
endforeach()

set(linked jansson) # which is compiled from source
file(STRINGS "${MAP}" lines REGEX "[^/ ]*\\.a\\(")
foreach(line IN LISTS lines)
    string(REGEX REPLACE "^.*/([^/]*)\\.a\\(.*$" "\\1" name "${line}")
    list(APPEND linked "${name}")
endforeach()
list(REMOVE_DUPLICATES linked)
list(SORT listed)
list(SORT linked)
if(NOT listed STREQUAL linked)
    message(FATAL_ERROR "sbom-wasm: ${SBOM} lists ${listed}; linked are ${linked}")
endif()
message(STATUS "sbom-wasm: ${linked} are linked and listed")
