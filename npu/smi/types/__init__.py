"""`info -t TYPE`: one module a type or a group of alike ones; the list of all stands in npu.smi.info."""
