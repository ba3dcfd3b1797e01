# How every target of this project is compiled.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()

function(rmsnorm_compile_options target)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
                                               C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    # No contraction: a fused multiply-add stands where it is written, so that every instruction set gives the same bits.
    target_compile_options(${target} PRIVATE -ffp-contract=off -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                                             -Wundef -Wvla -Wconversion $<$<BOOL:${RMSNORM_WERROR}>:-Werror>)
    if(RMSNORM_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${RMSNORM_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${RMSNORM_SANITIZE})
    endif()
endfunction()

# rmsnorm_library(NAME SOURCE...): a library for installation, rmsnorm::NAME to whoever adds this project to their own.
function(rmsnorm_library name)
    add_library(${name} ${ARGN})
    add_library(rmsnorm::${name} ALIAS ${name})
    rmsnorm_compile_options(${name})
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE RMSNORM_BUILDING)
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                             INSTALL_RPATH "\$ORIGIN")
    if(BUILD_SHARED_LIBS AND NOT RMSNORM_SANITIZE AND NOT APPLE)
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()
endfunction()
