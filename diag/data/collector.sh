#!/bin/sh
# Collects what `npu-diag check`, `diff` and `log` need of an Ascend server into one text file.
# POSIX sh; needs neither Python nor root nor a network, writes one file, changes nothing else.
# usage: sh collector.sh [OUTPUT]      default output: npu-facts.txt
# Left out: values of variables that may be secrets; replaced: home folder, user name, host name, addresses in logs.

out=${1:-npu-facts.txt}
if [ -e "$out" ]; then
    echo "collector: $out exists already; next: give another name: sh collector.sh OTHER" >&2
    exit 2
fi
LC_ALL=C
export LC_ALL
home=${HOME:-/nonexistent}
user=$(id -un 2>/dev/null || echo nobody)
host=$(uname -n)
base=/usr/local/Ascend

# a text as a basic regular expression
plain() { printf '%s' "$1" | sed 's/[][\.*^$|]/\\&/g'; }

clean() {
    set --
    case $home in /root | / ) set -- -e "" ;; *) set -- -e "s|$(plain "$home")|/home/user|g" ;; esac
    case $user in root | nobody | HwHiAiUser | "" ) ;; ??*) set -- "$@" -e "s|\\([/:= (]\\)$(plain "$user")\\([/:= )]\\)|\\1user\\2|g" -e "s|($(plain "$user"))|(user)|g" -e "s| $(plain "$user") | user |g" ;; esac
    case $host in ???*) set -- "$@" -e "s|$(plain "$host")|host|g" ;; esac
    sed "$@" -e 's|//[^/@ ]*:[^/@ ]*@|//***@|g'
}

# show COMMAND...: the command as a prompt line, then its answer
show() {
    echo "\$ $*"
    sh -c "$*" 2>&1
    echo
}

collect() {
    echo "# npu-diag collector 1"
    show uname -srm
    show id
    show "getent passwd $(id -u)"
    echo '$ env'
    env | grep -E '^(ASCEND|ACL_|HCCL_|P2P_HCCL|LD_LIBRARY_PATH|PYTHONPATH|PATH=|NPU_|TASK_QUEUE|TORCH_|PYTORCH_NPU|CPU_AFFINITY|DEVICE_ID|MULTI_STREAM|INF_NAN|RANK|WORLD_SIZE|TOOLCHAIN_HOME|HOME=|VLLM_|OMP_NUM)' |
        grep -viE '^[^=]*(token|secret|passw|key|credential|proxy|auth)' | sort
    echo
    for file in /etc/ascend_install.info "$base"/driver/version.info "$base"/firmware/version.info /var/davinci/driver/version.info \
        "$base"/*/latest/version.cfg "$base"/*/*/*-linux/ascend_*_install.info "$base"/cann-*/*-linux/ascend_*_install.info \
        "$base"/nnae/latest/ascend_nnae_install.info "$home"/Ascend/*/latest/version.cfg "$home"/Ascend/*/*/*-linux/ascend_*_install.info \
        "$home"/Ascend/cann-*/*-linux/ascend_*_install.info; do
        [ -r "$file" ] && [ ! -L "$(dirname "$file")" ] && show "cat $file"
    done
    echo '$ libraries'
    for name in libascendcl.so libascend_hal.so libruntime.so libhccl.so; do
        rest=$LD_LIBRARY_PATH:
        while [ -n "$rest" ]; do
            folder=${rest%%:*}
            rest=${rest#*:}
            if [ -n "$folder" ] && [ -e "$folder/$name" ]; then
                real=$(readlink -f "$folder/$name" 2>/dev/null || echo "$folder/$name")
                echo "        $name => $real"
                break
            fi
        done
    done
    echo
    show "ls -l /dev/davinci* /dev/devmm_svm /dev/hisi_hdc"
    if [ -r /proc/self/limits ]; then
        show "grep -E '^Max (open files|processes)' /proc/self/limits"
    else
        show "ulimit -n"
    fi
    show "df -P /dev/shm"
    show "cat /proc/1/cgroup | head -5"
    [ -e /.dockerenv ] && show "ls -a /.dockerenv"
    [ -r /proc/modules ] && { echo '$ lsmod | grep drv'; grep -iE '^(drv_|ascend|davinci|devdrv|hisi_)' /proc/modules | cut -d' ' -f1-3; echo; }
    command -v lspci >/dev/null 2>&1 && show "lspci | grep -iE '19e5|huawei'"
    command -v npu-smi >/dev/null 2>&1 || { echo '$ npu-smi info'; echo 'sh: npu-smi: command not found'; echo; }
    if command -v npu-smi >/dev/null 2>&1; then
        show "npu-smi info"
        show "npu-smi info -m"
        show "npu-smi info -t topo"
    fi
    if command -v python3 >/dev/null 2>&1; then
        show "python3 --version"
        show "python3 -m pip freeze 2>/dev/null | grep -iE '^(torch|vllm|mindspore|numpy|mindie|deepspeed)'"
    fi
    logs=${ASCEND_PROCESS_LOG_PATH:-${ASCEND_WORK_PATH:-$home/ascend}/log}
    if [ -d "$logs" ]; then
        echo '$ errors of the newest logs'
        find "$logs" -name '*.log' -type f -exec ls -t {} + 2>/dev/null | head -20 | while read -r log; do
            grep -hE '^\[(ERROR|EVENT)\]|^E[A-Z0-9][0-9]{4}:|^\[PID: ' "$log" 2>/dev/null | tail -200
        done | sed -E 's/([^0-9.])[0-9]{1,3}(\.[0-9]{1,3}){3}([^0-9.])/\1x.x.x.x\3/g'
        echo
    fi
}

collect | clean >"$out" || exit 1
echo "written: $out"
echo "next: read it through, then: npu-diag check $out"
