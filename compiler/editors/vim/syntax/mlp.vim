" Colours for specs of mlpc.
if exists('b:current_syntax')
    finish
endif

syntax keyword mlpStructure model block const
syntax keyword mlpSetting input output batch dtype weights
syntax match mlpSetting "\<budget\>\ze\_s*{"
syntax keyword mlpStatement return
syntax keyword mlpRepeat repeat in
syntax keyword mlpTruth true false
syntax keyword mlpType f32 tf32 f16 bf16

" A function is told by its parenthesis; a value may have its name.
syntax match mlpCall /\<\h\w*\ze\s*(/ contains=mlpFunction
syntax keyword mlpFunction contained linear layernorm rmsnorm batchnorm param
syntax keyword mlpFunction contained relu relu6 leaky_relu elu gelu gelu_tanh silu mish hardswish hardsigmoid
syntax keyword mlpFunction contained sigmoid tanh softplus exp log sqrt abs clamp identity maximum minimum
syntax keyword mlpFunction contained softmax log_softmax sum mean dot concat

syntax match mlpNumber /\<\d\+\(\.\.\@!\d*\)\?\([eE][-+]\?\d\+\)\?/
syntax match mlpOperator /[-+*/=]/
syntax match mlpOperator /\.\./

syntax region mlpString start=/"/ skip=/\\./ end=/"/ oneline contains=mlpEscape,mlpInsert
syntax match mlpEscape contained /\\["\\nt]\|{{\|}}/
syntax match mlpInsert contained /{\h\w*}/

syntax keyword mlpTodo contained TODO FIXME XXX
syntax match mlpComment /#.*$/ contains=mlpTodo,@Spell

syntax sync minlines=50

highlight default link mlpStructure Structure
highlight default link mlpSetting Keyword
highlight default link mlpStatement Statement
highlight default link mlpRepeat Repeat
highlight default link mlpTruth Boolean
highlight default link mlpType Type
highlight default link mlpFunction Function
highlight default link mlpNumber Number
highlight default link mlpOperator Operator
highlight default link mlpString String
highlight default link mlpEscape SpecialChar
highlight default link mlpInsert Identifier
highlight default link mlpTodo Todo
highlight default link mlpComment Comment

let b:current_syntax = 'mlp'
