#!/bin/sh
# The three-step check of an Ascend host. usage: sh run.sh      BIN names the folder of npu-smi and npu-diag when they are not on PATH
here=$(cd "$(dirname "$0")" && pwd)
[ -n "$BIN" ] && PATH=$BIN:$PATH

echo "1. The device tool answers"
npu-smi info || { echo "npu-smi failed with $?: driver, device nodes or rights"; }

echo "2. The environment leads to one install"
npu-diag host show 2>/dev/null | grep -E '^(LD_LIBRARY_PATH|ASCEND_HOME_PATH)='

echo "3. A minimal program opens device 0"
python -m npu "$here/minimal.py" || echo "the program failed with $?"

echo "All at once, with the versions"
npu-diag check --probe
status=$?
echo "exit code $status"
exit $status
