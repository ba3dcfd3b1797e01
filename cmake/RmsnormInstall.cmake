# Installation. Static and shared libraries may be installed into one prefix, from two build folders: each has an export file
# of its own, and the package configuration chooses.
include(CMakePackageConfigHelpers)

set(targets rmsnorm)
if(RMSNORM_COMMAND)
    list(APPEND targets rmsnorm_graph rmsnorm_webgpu)
endif()
if(BUILD_SHARED_LIBS)
    set(kind shared)
else()
    set(kind static)
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rmsnorm)

foreach(target IN LISTS targets)
    install(TARGETS ${target} EXPORT ${target}-${kind}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT ${target}-${kind} NAMESPACE rmsnorm:: DESTINATION ${package_dir})
endforeach()
install(FILES include/rmsnorm/rmsnorm.h include/rmsnorm/rewrite.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rmsnorm)
if(RMSNORM_COMMAND)
    install(FILES include/rmsnorm/graph.h include/rmsnorm/package.h include/rmsnorm/hub.h include/rmsnorm/webgpu.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rmsnorm)
    install(TARGETS rmsnorm_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES completions/rmsnorm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME rmsnorm)
    install(FILES completions/_rmsnorm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(TARGET rmsnorm_onnxruntime) # loaded by its path: nobody links with it
    install(TARGETS rmsnorm_onnxruntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ${CMAKE_CURRENT_BINARY_DIR}/rmsnorm.cdx.json
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE PATTERN CMakeLists.txt EXCLUDE)

configure_package_config_file(cmake/rmsnorm-config.cmake.in rmsnorm-config.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(rmsnorm-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rmsnorm-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/rmsnorm-config-version.cmake
              cmake/RmsnormDependencies.cmake DESTINATION ${package_dir})

# pkg-config: relative to the place of the .pc file, unless the folders were given as absolute paths.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
    set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
    string(REGEX REPLACE "/$" "" up ${up})
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
set(pc_hub "")
if(RMSNORM_HUB_BUILT) # by its name alone: what libcurl.pc adds is for who links libcurl statically as well
    set(pc_hub " -lcurl")
endif()
foreach(target IN LISTS targets)
    configure_file(cmake/${target}.pc.in ${target}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
