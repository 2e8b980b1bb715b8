"""`npu-smi top`: the devices and their processes, live. state (what is known), screen (how it is drawn), keys, who."""
