# find_package(mlpc) for CMake (3.20 or later): networks as targets.
#
#     find_package(mlpc REQUIRED)
#     mlpc_add_model(digits digits.mlp TARGET_DEVICE cpu)
#     target_link_libraries(classify PRIVATE digits)
#
#     mlpc_add_model(TARGET SPEC
#         [TARGET_DEVICE cuda|cpu]      what runs it; cuda unless told, as with mlpc
#         [CPU LEVEL...]                mlpc --cpu
#         [THREADS N]                   mlpc --threads
#         [WEIGHTS FILE] [PLAN FILE]    mlpc --weights, --plan
#         [OPTIONS OPTION...]           more options of mlpc
#         [MODEL NAME]                  the model's name; only needed where a rule makes the spec
#         [EXE])                        a program, not a library
#
# Files are relative to the current source folder, and may be made by rules. TARGET is a library whose header NAME.h is
# found by what links to it; with EXE it is a program for COMMAND, made in the current binary folder by the target
# TARGET_program. Either is made anew when the spec changes, the weights, a plan file, or mlpc itself. The C compiler is
# CMake's, with -fPIC where CMAKE_POSITION_INDEPENDENT_CODE is on; nvcc is CMAKE_CUDA_COMPILER, else that of the CUDA
# Toolkit that CMake finds.
if(CMAKE_VERSION VERSION_LESS 3.20)
    set(mlpc_FOUND FALSE)
    set(mlpc_NOT_FOUND_MESSAGE "mlpc needs CMake 3.20 or later")
    return()
endif()
cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

get_filename_component(mlpc_PREFIX "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(mlpc_PREFIX "${mlpc_PREFIX}/../../.." ABSOLUTE)
set(mlpc_EXECUTABLE "${mlpc_PREFIX}/bin/mlpc")
set(mlpc_INCLUDE_DIR "${mlpc_PREFIX}/include/mlpc")

# For those who compile the sources that mlpc writes.
if(NOT TARGET mlpc::runtime)
    add_library(mlpc::runtime STATIC IMPORTED)
    set_target_properties(mlpc::runtime PROPERTIES
        IMPORTED_LOCATION "${mlpc_PREFIX}/lib/mlpc/libmlprt.a"
        INTERFACE_INCLUDE_DIRECTORIES "${mlpc_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES m)
endif()

# What files of a spec's model are called. CMake runs again when the spec changes.
function(mlpc_model_name_ spec device result)
    if(NOT EXISTS "${spec}")
        message(FATAL_ERROR "mlpc_add_model: there is no '${spec}'; where a rule makes it, MODEL names its model")
    endif()
    execute_process(COMMAND "${mlpc_EXECUTABLE}" -M --lib --target=${device} --random-weights=1 "${spec}"
        OUTPUT_VARIABLE rule ERROR_VARIABLE messages RESULT_VARIABLE status)
    if(NOT status EQUAL 0 OR NOT rule MATCHES "/lib([A-Za-z0-9_]+)\\.a:")
        message(FATAL_ERROR "mlpc_add_model: ${spec}\n${messages}")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${spec}")
    set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# What mlpc finds in its environment: CMake's compilers.
function(mlpc_environment_ device result)
    set(cc "${CMAKE_C_COMPILER}${CMAKE_C_COMPILER_ARG1}")
    set(nvcc "${CUDAToolkit_NVCC_EXECUTABLE}")
    if(CMAKE_CUDA_COMPILER)
        set(nvcc "${CMAKE_CUDA_COMPILER}")
    endif()
    if(CMAKE_POSITION_INDEPENDENT_CODE)
        string(APPEND cc " -fPIC")
        string(APPEND nvcc " -Xcompiler=-fPIC")
    endif()
    set(environment)
    if(CMAKE_C_COMPILER)
        list(APPEND environment "CC=${cc}")
    endif()
    if(device STREQUAL cuda)
        list(APPEND environment "NVCC=${nvcc}")
    endif()
    set(${result} "${environment}" PARENT_SCOPE)
endfunction()

function(mlpc_add_model target spec)
    set(valued TARGET_DEVICE THREADS WEIGHTS PLAN MODEL)
    set(listed CPU OPTIONS)
    cmake_parse_arguments(PARSE_ARGV 2 arg EXE "${valued}" "${listed}")
    if(arg_UNPARSED_ARGUMENTS)
        list(GET arg_UNPARSED_ARGUMENTS 0 unknown)
        list(JOIN valued ", " known)
        list(JOIN listed ", " more)
        message(FATAL_ERROR "mlpc_add_model(${target}): '${unknown}' is no keyword of it, nor a value of the one "
            "before; there are ${known}, ${more} and EXE")
    endif()
    if(arg_KEYWORDS_MISSING_VALUES)
        list(GET arg_KEYWORDS_MISSING_VALUES 0 keyword)
        message(FATAL_ERROR "mlpc_add_model(${target}): ${keyword} needs a value behind it")
    endif()
    if(NOT arg_TARGET_DEVICE)
        set(arg_TARGET_DEVICE cuda)
    endif()
    if(NOT arg_TARGET_DEVICE MATCHES "^(cuda|cpu)$")
        message(FATAL_ERROR "mlpc_add_model(${target}): TARGET_DEVICE is cuda or cpu, not '${arg_TARGET_DEVICE}'")
    endif()
    if(arg_TARGET_DEVICE STREQUAL cuda)
        find_package(CUDAToolkit REQUIRED)
    endif()
    get_filename_component(spec "${spec}" ABSOLUTE)
    set(inputs "${spec}")
    set(options --target=${arg_TARGET_DEVICE} ${arg_OPTIONS})
    if(arg_CPU)
        list(JOIN arg_CPU , levels)
        list(APPEND options --cpu=${levels})
    endif()
    if(arg_THREADS)
        list(APPEND options --threads=${arg_THREADS})
    endif()
    foreach(file WEIGHTS PLAN)
        if(arg_${file})
            get_filename_component(path "${arg_${file}}" ABSOLUTE)
            list(APPEND inputs "${path}")
            string(TOLOWER ${file} option)
            list(APPEND options "--${option}=${path}")
        endif()
    endforeach()
    mlpc_environment_(${arg_TARGET_DEVICE} environment)

    if(arg_EXE)
        set(outputs "${CMAKE_CURRENT_BINARY_DIR}/${target}")
        list(APPEND options --exe -o "${outputs}")
    else()
        if(NOT arg_MODEL)
            mlpc_model_name_("${spec}" ${arg_TARGET_DEVICE} arg_MODEL)
        endif()
        set(folder "${CMAKE_CURRENT_BINARY_DIR}/mlpc/${target}")
        set(outputs "${folder}/lib${arg_MODEL}.a" "${folder}/${arg_MODEL}.h")
        list(APPEND options --lib -o "${folder}")
    endif()
    set(depfile "${CMAKE_CURRENT_BINARY_DIR}/mlpc/${target}.d")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/mlpc/${target}")
    list(GET outputs 0 main_output)
    add_custom_command(OUTPUT ${outputs}
        COMMAND "${CMAKE_COMMAND}" -E env ${environment} "${mlpc_EXECUTABLE}" ${options}
                -MD -MF "${depfile}" -MQ "${main_output}" "${spec}"
        DEPENDS ${inputs} "${mlpc_EXECUTABLE}" "${mlpc_PREFIX}/lib/mlpc/libmlprt.a"
        DEPFILE "${depfile}"
        COMMENT "Compiling the network ${target}"
        VERBATIM)

    if(arg_EXE)
        add_custom_target(${target}_program ALL SOURCES ${outputs})
        add_executable(${target} IMPORTED GLOBAL)
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${outputs}")
        add_dependencies(${target} ${target}_program)
        return()
    endif()
    add_library(${target} INTERFACE ${outputs})
    target_include_directories(${target} INTERFACE "${folder}" "${mlpc_INCLUDE_DIR}")
    target_link_libraries(${target} INTERFACE "${main_output}")
    if(arg_TARGET_DEVICE STREQUAL cuda)
        target_link_directories(${target} INTERFACE "${CUDAToolkit_LIBRARY_DIR}")
        target_link_libraries(${target} INTERFACE cublasLt cudart stdc++)
    elseif(arg_THREADS GREATER 1)
        target_link_libraries(${target} INTERFACE pthread)
    endif()
    target_link_libraries(${target} INTERFACE m)
endfunction()

cmake_policy(POP)
