# Message packages that come as Python wheels export the Python and numpy header directories of the machine that
# built the wheels, and CMake refuses to generate while an imported target names a directory that does not exist.
# The Python generator adds this machine's own directories, so the missing ones are dropped. Where all directories
# exist, as on a ROS 2 installation, nothing changes.
function(drop_missing_includes)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(existing "")
    foreach(directory IN LISTS directories)
      if(directory MATCHES "\\$<" OR EXISTS "${directory}")
        list(APPEND existing "${directory}")
      endif()
    endforeach()
    if(NOT existing STREQUAL directories)
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${existing}")
    endif()
  endforeach()
endfunction()
