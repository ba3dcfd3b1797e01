# How every target of this project is compiled.
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()

function(rmsnorm_compile_options target)
    target_compile_features(${target} PRIVATE c_std_11)
    set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
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
