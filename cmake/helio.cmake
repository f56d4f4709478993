# The vocabulary of the build: rooms (static libraries), programs, embedded SQL, embedded files of the console.

set(HELIO_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
    -Wcast-qual -Wswitch-enum -Wundef -Wvla -Wnull-dereference -fno-common)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND HELIO_WARNINGS -Wlogical-op -Wimplicit-fallthrough -ftrivial-auto-var-init=zero)
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # assert (!"why") is meant; uthash's macros fall through, and clang does not read their comments as gcc does.
  list(APPEND HELIO_WARNINGS -Wassign-enum -Wextra-semi -Wextra-semi-stmt -Wloop-analysis -Wmissing-variable-declarations
       -Wnewline-eof -Wover-aligned -Wpointer-arith -Wtautological-compare -Wunreachable-code -Wunreachable-code-return
       -Wunused-macros -Wno-string-conversion)
endif()
if(HELIO_WERROR)
  list(APPEND HELIO_WARNINGS -Werror)
endif()

# assert stays on in release builds: a programmer's error must stop the program, not corrupt the ledger.
foreach(kind RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${kind} "${CMAKE_C_FLAGS_${kind}}")
endforeach()

add_library(helio_flags INTERFACE)
target_include_directories(helio_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(helio_flags INTERFACE _GNU_SOURCE HELIO_PROGRAM_VERSION="${PROJECT_VERSION}")
target_compile_options(helio_flags INTERFACE ${HELIO_WARNINGS})
if(HELIO_SANITIZE)
  target_compile_options(helio_flags INTERFACE -fsanitize=${HELIO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(helio_flags INTERFACE -fsanitize=${HELIO_SANITIZE})
else()
  target_compile_options(helio_flags INTERFACE -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(helio_flags INTERFACE -fcf-protection)
  endif()
  if(CMAKE_BUILD_TYPE MATCHES "^Rel")
    target_compile_definitions(helio_flags INTERFACE _FORTIFY_SOURCE=2)
  endif()
  target_link_options(helio_flags INTERFACE -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
if(HELIO_MUTANT)
  target_compile_definitions(helio_flags INTERFACE HELIO_MUTANT_${HELIO_MUTANT}=1)
endif()

function(helio_target_name room ret)
  string(REGEX REPLACE "[^a-z]+" "_" name "${room}")
  set(${ret} helio_${name} PARENT_SCOPE)
endfunction()

function(helio_link target)
  foreach(link ${ARGN})
    if(link MATCHES "^(federation|broker|site-agent|client|simulator)(/|$)")
      helio_target_name(${link} link)
    endif()
    target_link_libraries(${target} PUBLIC ${link})
  endforeach()
endfunction()

# helio_room (FOLDER LINKS …): a static library of every .c file of the folder. A room without sources is header-only.
function(helio_room room)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  helio_target_name(${room} target)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${room}/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  if(NOT sources)
    file(WRITE ${CMAKE_BINARY_DIR}/empty/${target}.c "typedef int ${target}_is_empty;\n")
    set(sources ${CMAKE_BINARY_DIR}/empty/${target}.c)
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC helio_flags)
  helio_link(${target} ${arg_LINKS})
endfunction()

# helio_program (NAME MAIN LINKS … [DESTINATION dir])
function(helio_program name main)
  cmake_parse_arguments(arg "" "DESTINATION" "LINKS" ${ARGN})
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${main})
    return()
  endif()
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${main})
  target_link_libraries(${name} PRIVATE helio_flags)
  helio_link_private(${name} ${arg_LINKS})
  if(NOT arg_DESTINATION)
    set(arg_DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
endfunction()

function(helio_link_private target)
  foreach(link ${ARGN})
    if(link MATCHES "^(federation|broker|site-agent|client|simulator)(/|$)")
      helio_target_name(${link} link)
    endif()
    target_link_libraries(${target} PRIVATE ${link})
  endforeach()
endfunction()

# Migrations and named queries become constant tables at build time: no SQL is read from disk by a running daemon.
function(helio_embed_sql room schema)
  helio_target_name(${room} target)
  file(GLOB sql CONFIGURE_DEPENDS ${schema}/migrations/*.sql ${schema}/queries/*.sql ${schema}/report/*.sql)
  set(out ${CMAKE_BINARY_DIR}/generated/schema_embedded.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DSCHEMA=${schema} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/embed_sql.cmake
    DEPENDS ${sql} ${CMAKE_SOURCE_DIR}/cmake/embed_sql.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

# The console's files become constant tables at build time. They are built and committed (console/README.md): no Node here.
function(helio_embed_console room dist)
  helio_target_name(${room} target)
  file(GLOB files CONFIGURE_DEPENDS ${dist}/*)
  set(out ${CMAKE_BINARY_DIR}/generated/console_embedded.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DDIST=${dist} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/embed_console.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_console.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
