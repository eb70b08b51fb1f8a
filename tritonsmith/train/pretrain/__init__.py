"""Language models of Triton from nothing: rows of `tritonsmith data build` in, a small Qwen3 and its tokenizer out.

`rows` reads, `packing` packs, `model` is the loss, `optimizer` and `loop` train, `__main__` is the command. Does not
make data (`tritonsmith.data`) and does not fine-tune what exists (`train.sft`).
"""
