#!/usr/bin/env bash
# --format on the command line: what it prints, names, rewrites and refuses; and in Vim, with its colours.
# tests/unit/test_format.c has the layout itself, test_editors.c the words of all editors. format.sh BUILD
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
mlpc=$(absolute "$1/mlpc")
plugin=$PWD/compiler/editors/vim
cd "$scratch" || exit 1
printf 'model m {\r\n  input x:f32[4]; # four\r\noutput y=relu( x );\r\n}' >loose.mlp
cat >good.mlp <<'END'
model m {
    input x: f32[4];  # four
    output y = relu(x);
}
END
printf 'model m {\n    input x: f32[4]\n    output y = relu(x);\n}\n' >wrong.mlp
cp loose.mlp before.mlp

check "--format" bash -c '"$1" --format loose.mlp | cmp - good.mlp' - "$mlpc"
check "--format of standard input" bash -c '"$1" --format - <loose.mlp | cmp - good.mlp' - "$mlpc"
check "--format leaves the file as it is" cmp loose.mlp before.mlp
status "--format=check of another layout" 1 "$mlpc" --format=check loose.mlp
check "--format=check names the file" test "$(cat said)" = loose.mlp
status "--format=check of the layout" 0 "$mlpc" --format=check good.mlp
check "--format=check of the layout says nothing" test ! -s said
status "--format=check of several" 1 "$mlpc" --format=check good.mlp loose.mlp before.mlp good.mlp
check "--format=check of several names those that differ" test "$(cat said)" = "loose.mlp
before.mlp"
status "--format=check of several, one of them wrong" 1 "$mlpc" --format=check wrong.mlp loose.mlp
says "--format=check of several, one of them wrong" '^wrong.mlp:2:20: error'
says "--format=check goes on" '^loose.mlp$'
status "--format=check of several, one of them missing" 3 "$mlpc" --format=check none.mlp loose.mlp
says "--format=check goes on" '^loose.mlp$'

chmod 640 loose.mlp
ln -s loose.mlp link.mlp
status "--format=write" 0 "$mlpc" --format=write link.mlp
check "--format=write says nothing" test ! -s said
check "--format=write" cmp loose.mlp good.mlp
check "--format=write leaves the mode" test "$(stat -c %a loose.mlp)" = 640
check "--format=write leaves the link" test -L link.mlp
touch -d '2001-01-01' loose.mlp
check "--format=write again" "$mlpc" --format=write loose.mlp
check "--format=write leaves what has the layout" test "$(stat -c %Y loose.mlp)" = "$(date -d 2001-01-01 +%s)"
check "nothing is left aside" test "$(echo *.mlp*)" = "before.mlp good.mlp link.mlp loose.mlp wrong.mlp"

cp wrong.mlp before.mlp
for form in --format --format=check --format=write; do
    status "$form of a wrong spec" 1 "$mlpc" $form wrong.mlp
    says "$form of a wrong spec" "wrong.mlp:2:20: error: expected ';'"
    check "$form of a wrong spec prints nothing else" \
        bash -c '[ -z "$("$1" "$2" wrong.mlp 2>/dev/null)" ]' - "$mlpc" $form
    check "$form of a wrong spec leaves it" cmp wrong.mlp before.mlp
    status "$form of no file" 3 "$mlpc" $form none.mlp
done
status "--format to a device that is full" 3 bash -c '"$1" --format good.mlp >/dev/full' - "$mlpc"
printf 'model m{}' >loose.mlp
status "--format=write to a disk that is full" 3 full_disk 0 "$mlpc" --format=write loose.mlp
check "--format=write to a disk that is full leaves the spec" test "$(cat loose.mlp)" = 'model m{}'
status "--format=write of standard input" 2 "$mlpc" --format=write -
status "--format=write of standard input too" 2 "$mlpc" --format=write good.mlp -
status "--format=what" 2 "$mlpc" --format=what good.mlp
says "--format=what" 'it is one of check, write'
status "--format and --check" 2 "$mlpc" --format --check good.mlp
status "two forms" 2 "$mlpc" --format --format=write good.mlp
status "--format -o" 2 "$mlpc" --format -o there good.mlp

# ---- Vim ----
cat >colours.mlp <<'END'
model m {
    input relu: f32[4];  # relu
    h = relu ( relu [ 0 : 2.5 ] );
  output y = linear(h, 4, "a{i}\n", bias=false);
}
END
cat >check.vim <<'END'
function Colour(line, column, group)
    call assert_equal(a:group, synIDattr(synID(a:line, a:column, 1), 'name'), a:line . ':' . a:column)
endfunction
call assert_equal('mlp', &filetype)
call Colour(1, 1, 'mlpStructure')
call Colour(1, 7, '')
call Colour(2, 5, 'mlpSetting')
call Colour(2, 11, '')
call Colour(2, 17, 'mlpType')
call Colour(2, 21, 'mlpNumber')
call Colour(2, 28, 'mlpComment')
call Colour(3, 9, 'mlpFunction')
call Colour(3, 16, '')
call Colour(3, 27, 'mlpNumber')
call Colour(4, 28, 'mlpString')
call Colour(4, 30, 'mlpInsert')
call Colour(4, 33, 'mlpEscape')
call Colour(4, 42, 'mlpTruth')
Format
call assert_equal('    h = relu(relu[0:2.5]);', getline(3))
call assert_equal(5, line('$'))
call setline(3, 'h = = 1')
Format
call assert_equal('h = = 1', getline(3))
call setline(1, ['model m{', 'h=1;', '', '', '', '', '}'])
Format
call assert_equal(['model m {', '    h = 1;', '}'], getline(1, '$'))
call feedkeys("2GOx {\<CR>y\<CR>}", 'tx')
call assert_equal(['    x {', '        y', '    }'], getline(2, 4))
call writefile(v:errors, 'vim.errors')
qall!
END
if vim --version 2>/dev/null | grep -q '+eval'; then
    check "Vim ends" env PATH="$(dirname "$mlpc"):$PATH" timeout 20 vim -N -u NONE -i NONE -es \
        --cmd "set rtp^=$plugin" --cmd 'filetype plugin indent on' --cmd 'syntax on' colours.mlp +'source check.vim'
    check "Vim" bash -c '[ -f vim.errors ] && ! grep . vim.errors'
else
    skip "Vim: there is none"
fi
finish format
