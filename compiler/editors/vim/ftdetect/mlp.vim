" Not setfiletype: Vim takes these files for OCaml's first.
autocmd BufNewFile,BufRead *.mlp set filetype=mlp
