# The bill of materials, CycloneDX JSON: what the command and the libraries are linked with, and what is compiled into them, with
# the versions and digests of this build. No date and no path is in it: the same machine gives the same bytes.
include_guard()

# rmsnorm_header_version(VARIABLE HEADER REGEX...): what the first group of each expression finds, with dots between.
function(rmsnorm_header_version variable header)
    find_path(RMSNORM_sbom_place ${header})
    set(place "${RMSNORM_sbom_place}")
    unset(RMSNORM_sbom_place CACHE)
    set(numbers)
    if(place)
        foreach(regex IN LISTS ARGN)
            file(STRINGS "${place}/${header}" line REGEX "${regex}" LIMIT_COUNT 1)
            if(line MATCHES "${regex}")
                list(APPEND numbers ${CMAKE_MATCH_1})
            endif()
        endforeach()
    endif()
    list(JOIN numbers "." numbers)
    set(${variable} "${numbers}" PARENT_SCOPE)
endfunction()

# rmsnorm_sbom_component(NAME LICENSE VERSION [LIBRARY FILE NAME...] [FILE FILE]): adds to rmsnorm_sbom. LIBRARY: the file that
# is linked, and the names without version of what it brings; FILE: what is compiled in.
function(rmsnorm_sbom_component name license version)
    cmake_parse_arguments(PART "" "FILE" "LIBRARY" ${ARGN})
    set(text "    {\n      \"type\": \"library\",\n      \"bom-ref\": \"${name}\",\n      \"name\": \"${name}\",\n")
    if(version)
        string(APPEND text "      \"version\": \"${version}\",\n")
    endif()
    if(license MATCHES " WITH ")
        string(APPEND text "      \"licenses\": [{\"expression\": \"${license}\"}],\n")
    else()
        string(APPEND text "      \"licenses\": [{\"license\": {\"id\": \"${license}\"}}],\n")
    endif()
    if(PART_FILE)
        file(SHA256 "${PART_FILE}" digest)
        string(APPEND text "      \"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"${digest}\"}],\n"
                           "      \"properties\": [{\"name\": \"rmsnorm:linkage\", \"value\": \"compiled in\"}]\n    }")
    else()
        list(POP_FRONT PART_LIBRARY file)
        set(linkage "dynamic")
        if(file MATCHES "\\.a$")
            set(linkage "static")
        endif()
        list(JOIN PART_LIBRARY " " names)
        string(APPEND text "      \"properties\": [\n        {\"name\": \"rmsnorm:linkage\", \"value\": \"${linkage}\"},\n"
                           "        {\"name\": \"rmsnorm:libraries\", \"value\": \"${names}\"}\n      ]\n    }")
    endif()
    set(rmsnorm_sbom ${rmsnorm_sbom} "${text}" PARENT_SCOPE)
    set(rmsnorm_sbom_refs ${rmsnorm_sbom_refs} "\"${name}\"" PARENT_SCOPE)
endfunction()

# rmsnorm_sbom_write(FILE TYPE): what was added so far in this folder, as the bill of the "application" or "library" rmsnorm.
function(rmsnorm_sbom_write file type)
    list(JOIN rmsnorm_sbom ",\n" components)
    list(JOIN rmsnorm_sbom_refs ", " refs)
    file(CONFIGURE OUTPUT "${file}" @ONLY CONTENT [=[{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {
    "component": {
      "type": "@type@",
      "bom-ref": "rmsnorm",
      "name": "rmsnorm",
      "version": "@PROJECT_VERSION@",
      "licenses": [{"license": {"id": "Apache-2.0"}}]
    }
  },
  "components": [
@components@
  ],
  "dependencies": [{"ref": "rmsnorm", "dependsOn": [@refs@]}]
}
]=])
endfunction()

set(rmsnorm_sbom)
set(rmsnorm_sbom_refs)
rmsnorm_header_version(version features.h "# *define[ \t]+__GLIBC__[ \t]+([0-9]+)" "# *define[ \t]+__GLIBC_MINOR__[ \t]+([0-9]+)")
if(version)
    rmsnorm_sbom_component(glibc LGPL-2.1-or-later "${version}" LIBRARY libc.so libc libm)
endif()
if(RMSNORM_COMMAND)
    rmsnorm_header_version(version jansson.h "# *define JANSSON_VERSION +\"([^\"]*)\"")
    rmsnorm_sbom_component(jansson MIT "${version}" LIBRARY "${RMSNORM_jansson_LIBRARY}" libjansson)
    rmsnorm_header_version(version protobuf-c/protobuf-c.h "# *define PROTOBUF_C_VERSION[ \t]+\"([^\"]*)\"")
    rmsnorm_sbom_component(protobuf-c BSD-2-Clause "${version}" LIBRARY "${RMSNORM_protobuf_c_LIBRARY}" libprotobuf-c)
    rmsnorm_header_version(version openssl/opensslv.h "# *define OPENSSL_VERSION_STR +\"([^\"]*)\"")
    rmsnorm_sbom_component(openssl Apache-2.0 "${version}" LIBRARY "${RMSNORM_crypto_LIBRARY}" libcrypto)
    if(RMSNORM_HUB_BUILT)
        rmsnorm_header_version(version curl/curlver.h "# *define LIBCURL_VERSION +\"([^\"]*)\"")
        rmsnorm_sbom_component(curl curl "${version}" LIBRARY "${RMSNORM_curl_LIBRARY}" libcurl)
    endif()
    # ONNX counts the versions of its file format; the header of WebGPU has none.
    file(STRINGS "${RMSNORM_ONNX_PROTO}" line REGEX "^ *IR_VERSION = 0x" LIMIT_COUNT 1)
    string(REGEX REPLACE "^.*0x0*([0-9A-F]+).*$" "\\1" version "${line}")
    rmsnorm_sbom_component(onnx.proto Apache-2.0 "${version}" FILE "${RMSNORM_ONNX_PROTO}")
    if(RMSNORM_WEBGPU_HEADERS)
        rmsnorm_sbom_component(webgpu.h BSD-3-Clause "" FILE "${RMSNORM_WEBGPU_HEADERS}/webgpu.h")
    endif()
    if(RMSNORM_ORT_INCLUDE_DIR) # the plug-in, and `rmsnorm bench`, which load the runtime when they run
        file(STRINGS "${RMSNORM_ORT_INCLUDE_DIR}/onnxruntime_c_api.h" line REGEX "^#define ORT_API_VERSION [0-9]+" LIMIT_COUNT 1)
        string(REGEX REPLACE "^#define ORT_API_VERSION ([0-9]+).*$" "1.\\1" version "${line}")
        rmsnorm_sbom_component(onnxruntime_c_api.h MIT "${version}" FILE "${RMSNORM_ORT_INCLUDE_DIR}/onnxruntime_c_api.h")
    endif()
    file(GLOB packages ${PROJECT_SOURCE_DIR}/kernels/*/build/webgpu/metadata.json)
    foreach(metadata IN LISTS packages)
        file(READ "${metadata}" text)
        string(JSON name GET "${text}" name)
        string(JSON version GET "${text}" version)
        string(JSON license GET "${text}" license)
        string(REPLACE "apache-2.0" "Apache-2.0" license "${license}")
        rmsnorm_sbom_component("${name}" "${license}" "${version}" FILE "${metadata}")
    endforeach()
endif()

rmsnorm_sbom_write(${CMAKE_CURRENT_BINARY_DIR}/rmsnorm.cdx.json application)
