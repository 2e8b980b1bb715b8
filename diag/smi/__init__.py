"""Reading what the device tool printed: one module a form of its text, `diag.smi_text.parse` in front of them."""
