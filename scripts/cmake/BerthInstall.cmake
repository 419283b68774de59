# cmake --install: the binary, the engine's libraries and headers, and a package so that find_package(berth) works.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(berth_libraries GLOBAL PROPERTY BERTH_LIBRARIES)
install(TARGETS berth_options ${berth_libraries} EXPORT berth-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth)
if(TARGET berth)
  install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/scripts/cron DESTINATION ${CMAKE_INSTALL_DATADIR}/berth USE_SOURCE_PERMISSIONS)
install(FILES
  ${CMAKE_SOURCE_DIR}/scripts/capacity_what_if.lua
  ${CMAKE_SOURCE_DIR}/scripts/month_end_chargeback.lua
  ${CMAKE_SOURCE_DIR}/scripts/nightly_rebalance.lua
  DESTINATION ${CMAKE_INSTALL_DATADIR}/berth/scripts)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/engine DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth FILES_MATCHING PATTERN "*.h")
install(EXPORT berth-targets NAMESPACE berth:: FILE berth-targets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
configure_package_config_file(${CMAKE_SOURCE_DIR}/scripts/cmake/berth-config.cmake.in
  ${CMAKE_BINARY_DIR}/berth-config.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/berth-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/berth-config.cmake ${CMAKE_BINARY_DIR}/berth-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
