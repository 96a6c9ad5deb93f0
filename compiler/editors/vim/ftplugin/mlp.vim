" Editing specs of mlpc: indentation, comments, :make, and :Format.
if exists('b:did_ftplugin')
    finish
endif
let b:did_ftplugin = 1

setlocal expandtab shiftwidth=4 softtabstop=4 textwidth=100
setlocal comments=:# commentstring=#\ %s formatoptions-=t formatoptions+=croql
setlocal suffixesadd=.mlp
let &l:indentexpr = 'indent(prevnonblank(v:lnum - 1))'
            \ . ' + (getline(prevnonblank(v:lnum - 1)) =~ ''{\s*\(#.*\)\?$'' ? shiftwidth() : 0)'
            \ . ' - (getline(v:lnum) =~ ''^\s*}'' ? shiftwidth() : 0)'
setlocal indentkeys=0},o,O

" :make reports mistakes; :Format gives the file its layout, and leaves it as it is where it has mistakes.
setlocal makeprg=mlpc\ --check\ --target=cpu\ --color=never\ %:S
setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%-G%.%#

if !exists('*s:format')
    function s:format()
        let l:formatted = systemlist('mlpc --format -', getline(1, '$'))
        if v:shell_error
            echohl ErrorMsg | echomsg get(l:formatted, 0, 'mlpc is not there') | echohl None
            return
        endif
        let l:view = winsaveview()
        call setline(1, l:formatted)
        if line('$') > len(l:formatted)
            call deletebufline('%', len(l:formatted) + 1, '$')
        endif
        call winrestview(l:view)
    endfunction
endif
command! -buffer Format call s:format()

let b:undo_ftplugin = 'setlocal expandtab< shiftwidth< softtabstop< textwidth< comments< commentstring<'
            \ . ' formatoptions< suffixesadd< indentexpr< indentkeys< makeprg< errorformat<'
            \ . ' | delcommand -buffer Format'
