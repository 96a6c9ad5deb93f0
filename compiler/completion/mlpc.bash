# Completion of mlpc's command line for bash.

# Files with an ending, and folders on the way to them.
_mlpc_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <((compgen -f -X "!*$2" -- "$1"; compgen -d -- "$1") | sort -u)
}

# Options; behind one with a value comes no blank.
_mlpc_options()
{
    _mlpc_words "$1" "$2"
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}

_mlpc_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# The last of a list of words between commas.
_mlpc_list()
{
    local before=
    [[ $1 == *,* ]] && before=${1%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${1##*,}")
}

# -Wall, -Wno-NAME, -Werror=NAME and the like
_mlpc_warnings()
{
    local names="unused-value unused-input dead-layer partial-layer unused-tensor"
    _mlpc_words "$1" "$(printf -- '-W%s ' all error no-all no-error $names; printf -- '-Wno-%s ' $names;
        printf -- '-Werror=%s ' $names; printf -- '-Wno-error=%s ' $names)"
}

_mlpc_import()
{
    local word=$1 option=$2
    case $option in
    -o) _mlpc_files "$word" "" ;;
    --bind | --check-with) _mlpc_files "$word" .npy ;;
    --name | --output | --batch | --tolerance) ;;
    *)
        if [[ $word == -* ]]; then
            _mlpc_options "$word" "-o --name= --output= --bind= --batch= --keep-layout --check-with=
                --tolerance= --help"
        else
            _mlpc_files "$word" .onnx
        fi
        ;;
    esac
}

_mlpc()
{
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} equals=
    COMPREPLY=()
    if [[ $word == "=" ]]; then         # bash has split --name=value
        word='' equals=yes
    elif [[ $option == "=" ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]} equals=yes
    fi
    if [[ ${COMP_WORDS[1]} == import && $COMP_CWORD -gt 1 ]]; then
        _mlpc_import "$word" "$option"
        return
    fi
    case $option in
    -Werror | -Wno-error) [[ $word == -* ]] || { _mlpc_warnings "$option=$word"; COMPREPLY=("${COMPREPLY[@]#*=}"); } ;;
    --target) _mlpc_words "$word" "cuda cpu" ;;
    --cpu) _mlpc_list "$word" "x86-64 x86-64-v2 x86-64-v3 x86-64-v4 v2 v3 v4 native" ;;
    --floor) _mlpc_words "$word" "H200 H100 A100 L40S RTX4090 core" ;;
    --whole) _mlpc_words "$word" "auto never rows few all" ;;
    --dump) _mlpc_words "$word" "ast graph fused plan memory" ;;
    --diagnostics-format) _mlpc_words "$word" "text sarif" ;;
    --color) _mlpc_words "$word" "auto always never" ;;
    --weights)
        _mlpc_files "$word" .safetensors
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "embed external" -- "$word")
        ;;
    --plan) _mlpc_files "$word" .plan ;;
    --format)
        if [[ $equals ]]; then _mlpc_words "$word" "check write"; else _mlpc_files "$word" .mlp; fi
        ;;
    --memory)
        if [[ $equals ]]; then _mlpc_words "$word" "text svg"; else _mlpc_files "$word" .mlp; fi
        ;;
    -o | -MF) _mlpc_files "$word" "" ;;
    --threads | --error-limit | --random-weights | -MT | -MQ) ;;
    *)
        if [[ $word == -W* ]]; then
            _mlpc_warnings "$word"
        elif [[ $word == -* ]]; then
            _mlpc_options "$word" "-o --exe --lib --static --no-static --target= --cpu= --threads= --weights=
                --random-weights= --plan= --locked --whole= --check --format --dump= --dot --explain
                --memory --floor= -M -MD -MF -MT -MQ -MP
                -W -Wall -Werror --error-limit= --diagnostics-format= --color= --version --help -h"
        else
            _mlpc_files "$word" .mlp
            [[ $COMP_CWORD == 1 && import == "$word"* ]] && COMPREPLY+=(import)
        fi
        ;;
    esac
}

complete -F _mlpc mlpc
