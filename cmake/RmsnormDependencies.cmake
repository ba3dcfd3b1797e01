# The libraries this project stands on, as imported targets. Installed beside the package configuration as well: whoever links
# the static libraries finds them again, on their own machine, the same way.
include_guard()

# rmsnorm_find(NAME HEADER LIBRARY): makes rmsnorm::NAME, or says in rmsnorm_missing what is not there.
function(rmsnorm_find name header library)
    if(TARGET rmsnorm::${name})
        return()
    endif()
    find_path(RMSNORM_${name}_INCLUDE_DIR ${header})
    find_library(RMSNORM_${name}_LIBRARY ${library})
    mark_as_advanced(RMSNORM_${name}_INCLUDE_DIR RMSNORM_${name}_LIBRARY)
    if(NOT RMSNORM_${name}_INCLUDE_DIR OR NOT RMSNORM_${name}_LIBRARY)
        set(rmsnorm_missing ${rmsnorm_missing} "${name} (${header} and lib${library})" PARENT_SCOPE)
        return()
    endif()
    add_library(rmsnorm::${name} UNKNOWN IMPORTED)
    set_target_properties(rmsnorm::${name} PROPERTIES IMPORTED_LOCATION "${RMSNORM_${name}_LIBRARY}"
                                                      INTERFACE_INCLUDE_DIRECTORIES "${RMSNORM_${name}_INCLUDE_DIR}")
endfunction()

# What librmsnorm_graph needs; librmsnorm needs the C library and its threads alone.
macro(rmsnorm_find_graph_dependencies)
    rmsnorm_find(protobuf_c protobuf-c/protobuf-c.h protobuf-c)
    rmsnorm_find(jansson jansson.h jansson)
endmacro()

# What librmsnorm_webgpu needs.
macro(rmsnorm_find_webgpu_dependencies)
    rmsnorm_find(jansson jansson.h jansson)
    rmsnorm_find(crypto openssl/evp.h crypto)
endmacro()

# What librmsnorm_webgpu needs to fetch from a Hub.
macro(rmsnorm_find_hub_dependencies)
    rmsnorm_find(curl curl/curl.h curl)
endmacro()
