"""The pyACL facade: argument checks, codes, one line to the runtime. Names, arguments and returns come from data/pyacl.csv."""
