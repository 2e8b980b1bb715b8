"""Problems as people paste them: quoted, folded into JSON, colours without their escape, installers and other writers. Each names
its cause and the facts that cause needs. Values are made up.
"""

from __future__ import annotations

import pytest

from diag.log_report import LogReport, read_text
from diag.log_text import said
from tests.unit.diag.field_messages import MORE

Facts = dict[str, str]
FIELD: list[tuple[str, Facts, str]] = [
    ("device_process_start", {"response": "1"},
     '2026-02-03 | ERROR | api:parse:9 | 500: {"detail":"Initialize NPU function error: c10_npu::SetDevice(id), error code is 507033'
     r'\n[ERROR] 2026-02-03-10:11:12 (PID:35, Device:0, RankID:-1) ERR00100 PTA call acl api failed\n[Error]: Failed to start.'
     r'\nE30006: 2026-02-03-10:11:11.516.606 Failed to verify the OPP\n        Solution: 1. Use a correct OPP.'
     r'\n        TraceBack (most recent call last):\n        tsd client wait response fail, hostpid:9, device response code[1]. '
     r'unknown device error.[FUNC:WaitRsp][FILE:process_mode_manager.cpp][LINE:332]\n"}'),
    ("kernels_missing", {},
     "RuntimeError: call aclnnSwiGlu failed, detail:EZ1001: [PID: 7] 2026-03-04-15:41:40.695.851 Get path and read "
     "binary_info_config.json failed, please check if the opp_kernel package is installed!\n"),
    ("kernels_missing", {"op_name": "Cast"},
     "[E OpParamMaker.cpp:273] call aclnnCast failed, detail:EZ9999: Inner Error!\n"
     "EZ9999: 2026-05-17-01:30:26.960.959  Op Cast does not has any binary.\n"),
    ("path_refused", {"option": "ge.debugDir", "path": "/usr/bin", "reason": "access real path failed. Reason: Permission denied"},
     "E10001: [PID: 16] 2026-09-01-20:16:24.100.200 Path [/usr/bin] for [ge.debugDir] is invalid. Result: access real path failed. "
     "Reason: Permission denied.\n        TraceBack (most recent call last):\n        Failed to init tbe.\n"),
    ("hccl_rank_table", {"field": "device_ip", "value": "-.-.-.-"},
     "2026-07-01 10:00:01.123 [ERROR] [config_manager.cpp:210] device_ip: -.-.-.- is invalid in ranktable file.\nKilled\n"),
    ("hccl_connect_timeout", {"peer": "4"},
     "[rank1]: EI0009: [PID: 22] 2026-09-24-20:59:48.119.066 Transport init error. Reason: [Create][DestLink]Create Dest error! "
     "createLink para:rank[1]-localUserrank[1]-localIpAddr[192.0.2.4], dst_rank[4]-remoteUserrank[4]\n"),
    ("hccl_environment", {},
     "[ERROR] HCCL(3,python3):2026-09-09-10:00:00.000.000 [hccl_socket.cc:300] [3][Connect]rank[8] tls handshake failed, local TLS "
     "status: enable, remote TLS status: disable\n"
     "EI0006: [PID: 3] 2026-09-09-10:02:00.000.000 Getting socket times out.\n"),
    ("hccl_environment", {"variable": "HCCL_IF_IP", "value": "192.0.2.9"},
     "[ERROR] HCCL(9,python):2026-06-06-06:06:06.000.000 [externalinput.cc:1200] [9][Parse]HCCL_IF_IP[192.0.2.9] config is invalid\n"),
    ("hccl_listen_port_in_use", {"port": "29500"},
     "[W socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n"),
    ("vector_core_exception", {"device_id": "3", "core_id": "0", "reason": "Illegal instruction, usually of unaligned UUB addresses"},
     "EZ9999: 2026-10-31-12:08:42.276.420  The error from device(3), serial number is 3, there is an aivec error, core id is 0, error "
     "code = 0x10, dump info: pc start: 0x8001240801311a4, current: 0x124080131744, vec error info: 0x1e, errorStr: Illegal "
     "instruction, usually of unaligned UUB addresses.[FUNC:PrintCoreErrorInfo][FILE:device_error_proc.cc][LINE:537]\n"),
    ("copy_engine_error", {"device_chip": "2"},
     "[rank0]:         The error from device(chipId:2, dieId:0), serial number is 9. there is a sdma error, sdma channel is 2, "
     "cqeStatus=0x3 [FUNC:ProcessStarsSdmaErrorInfo][FILE:device_error_proc.cc][LINE:1521]\n"
     "[rank0]:        synchronize stream failed, runtime result = 507001[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]\n"),
    ("device_lost", {"device_id": "3"}, "[drv_pcie] [ERROR] [devdrv_heartbeat 112] <kworker/u96> Device(3) lost heartbeat\n"),
    ("platform_config_missing", {"soc_version": "ascend310b1"},
     "CMake Error at host_config.cmake:20 (message):\n  SOC_VERSION ascend310b1 does not support, the support list is\n"),
    ("system_library_too_old", {"symbol": "GLIBC_2.34", "library": "/lib/libc.so.6", "wanted_by": "/opt/driver/libascend_hal.so"},
     "python3: /lib/libc.so.6: version `GLIBC_2.34' not found (required by /opt/driver/libascend_hal.so)\n"),
    ("static_tls_block", {"library": "/opt/torch.libs/libgomp-d2.so.1.0.0"},
     "ImportError: /opt/torch.libs/libgomp-d2.so.1.0.0: cannot allocate memory in static TLS block\n"),
    ("protobuf_mismatch", {}, "TypeError: Descriptors cannot be created directly.\nIf this call came from a _pb2.py file, ...\n"),
    ("source_tree_imported", {"package": "torch_npu"}, "ModuleNotFoundError: No module named 'torch_npu._C'\n"),
    ("cuda_wanted", {}, "AssertionError: Torch not compiled with CUDA enabled\n"),
    ("torch_npu_not_loaded", {},
     "RuntimeError: Expected one of cpu, cuda, meta, privateuseone device type at start of device string: npu\n"),
    ("memory_held_by_others", {"free": "12.41", "total": "60.96"},
     "[1;36m(Worker_TP1 pid=300)[0;0m ERROR 10-10 10:10:10 [multiproc_executor.py:700] ValueError: Free memory on device "
     "(12.41/60.96 GiB) on startup is less than desired GPU memory utilization (0.9, 54.87 GiB).\n"
     "(APIServer pid=1100) RuntimeError: Engine core initialization failed. See root cause above.\n"),
    ("kv_cache_too_small", {"asked": "40960", "fits": "21376"},
     "ValueError: The model's max seq len (40960) is larger than the maximum number of tokens that can be stored in KV cache "
     "(21376). Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.\n"),
    ("kernel_buffer_overflow", {"buffer": "ub", "bits_wanted": "3072000", "bits_there": "1572864"},
     "subprocess.CalledProcessError: Command '['bishengir-compile', 'k.mlir']' returned non-zero exit status 1.\n"
     'loc("k.mlir":3:3): error: ub overflow, requires 3072000 bits while 1572864 bits available!\n'),
    ("operator_dtype", {"operand": "self", "dtype": "DT_BFLOAT16", "allowed": "DT_FLOAT,DT_FLOAT16"},
     "RuntimeError: call aclnnAdd failed, detail:EZ1001: [PID: 9] 2026-05-05-01:02:03.100.100 self not implemented for DT_BFLOAT16, "
     "should be in dtype support list [DT_FLOAT,DT_FLOAT16].\n"),
    ("operator_tiling", {"op_name": "CausalConv1d", "reason": "Check cacheIndices shape failed, should be 4 but got 8"},
     "RuntimeError: npu_causal_conv1d NPU function error: call aclnnCausalConv1d failed, error code is 561002\n"
     "EZ9999[PID: 22] 2026-06-01-12:00:00.000.100 (EZ9999):  Check cacheIndices shape failed, should be 4 but got 8[FUNC:CheckShape]\n"
     "        TraceBack (most recent call last):\n       Tiling failed\n       launch failed for CausalConv1d, errno:561103.\n"),
    ("model_wrong_chip", {"device_soc": "Ascend310P3", "model_soc": "Ascend310"},
     "[ERROR] load model from file failed, model file is a.om\n"
     "EE1001: The argument is invalid.Reason: rtModelCheckCompatibility failed, supported socVersion=Ascend310P3, but the model "
     "socVersion=Ascend310\n"),
    ("model_load_failed", {"path": "a.om"}, "[ERROR] load model from file failed, model file is a.om\n"),
    ("chip_not_recognised", {}, "RuntimeError: (External) Call aclInit(nullptr) failed : 507008 at runtime.cc line 302\n"),
    ("visible_devices_not_ascending", {"asked": "0,2,1,3"},
     "RuntimeError: init NPU function error: aclrtGetDeviceCount(&device_count), error code is 207004\nEE1001: [PID: 1] "
     "2026-07-17-08:06:53.296.370 The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:0,2,1,3 error, it must be "
     "configured in ascending order\n"),
    ("visible_devices_invalid", {"asked": "4", "last": "1"},
     "EE1001: [PID: 4] 2026-11-18-09:33:13.673.064 The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:4 error, input data "
     "rang[0-2)\n"),
    ("install_tools_missing", {"tools": "gcc,make,"},
     "[Driver] [2026-03-11 10:11:12] [ERROR]The list of missing tools: gcc,make,\n"
     "[Driver] [2026-03-11 10:11:13] [ERROR]Dkms install failed, details in : /var/log/ascend_seclog/ascend_install.log\n"),
    ("install_user_missing", {"user": "HwHiAiUser"},
     "[Driver] [2026-03-11 10:11:12] [ERROR]ERR_NO:0x0091;ERR_DES:HwHiAiUser not exists! Please add HwHiAiUser user.\n"),
    ("install_failed", {"package": "Firmware", "reason": "Please install driver first."},
     "[Firmware] [2026-03-11 10:11:12] [ERROR]Please install driver first.\n"),
    ("container_start_refused", {"path": "/dev/davinci8"},
     'docker: Error response from daemon: error gathering device information while adding custom device "/dev/davinci8": no such file '
     "or directory.\n"),
    ("container_start_refused", {"runtime": "ascend"}, "docker: Error response from daemon: unknown or invalid runtime name: ascend.\n"),
    ("container_start_refused", {"path": "/usr/local/bin/npu-smi"},
     "Please check the write permission!\nfailed to mount src: /usr/local/bin/npu-smi.failed to mount dev.failed to do mounting.\n"),
    ("no_free_npu", {"resource": "huawei.com/Ascend910"}, "0/3 nodes are available: 3 Insufficient huawei.com/Ascend910. No victims.\n"),
    ("no_free_npu", {"have": "0", "want": "8"}, "ValueError: Total available GPUs 0 is less than total desired GPUs 8\n"),
    ("service_configuration", {"reason": "size of npuDeviceIds (subset) does not equal to worldSize"},
     "[2026-07-01 10:00:01.123+08:00] [12] [server] [ERROR] [config.cpp:120] : The size of npuDeviceIds (subset) does not equal to "
     "worldSize\nKilled\n"),
    ("driver_library_missing", {"library": "libascend_hal.so"},
     "python3: error while loading shared libraries: libascend_hal.so: 无法打开共享对象文件: 没有那个文件或目录\n"),
    ("process_crashed", {}, "段错误 (核心已转储)\n"),
    ("host_out_of_memory", {}, "run.sh: 行 3:  4711 已杀死\n"),
    ("hccl_rank_table", {"field": "device_ip"},
     "plog/plog-16.log:1:[ERROR] HCCL(16,):2026-12-10-08:04:09.802.299 [topo.cc:446] [16][Get]'device_ip' is not set correctly,must be "
     "set when multi Server\nRuntimeError: Mooncake transfer failed, ret: -1\n"),
    ("kv_transfer_failed", {"address": "192.0.2.16:25482"},
     "E20260106 06:43:02.966156  57 ascend_direct_transport.cpp:820] Failed to connect to target: 192.0.2.16:25482, status: 103900\n"
     "(EngineCore_DP0 pid=57) ERROR 01-06 06:43:02 [c.py:4] Failed to transfer KV cache: Mooncake transfer failed, ret: -1\n"),
    ("header_missing", {"header": "torch_npu/csrc/core/npu/NPUStream.h"},
     "csrc/a.cpp:20:10: fatal error: torch_npu/csrc/core/npu/NPUStream.h: No such file or directory\n"),
    ("capture_refused", {},
     "[PID: 4] 2026-05-08-17:31:28.781.490 Invalid_Argument(EL0003): The argument is invalid.\n        TraceBack (most recent call "
     "last):\n        rtMemcpy execution failed, reason=the current capture mode does not support this operation[FUNC:F][FILE:e.cc]\n"),
    ("internal_failure", {},
     "2026-12-13 20:11:34.3 [E:onnxruntime:Default, cann_call.cc:139 CannCall] CANN failure 500001: ACL_ERROR_FAILURE ; NPU=0\n"),
    ("unknown_error", {}, "[2026-07-01 10:00:01.123+08:00] [12] [server] [ERROR] [x.cpp:1] : the spline was not reticulated\n"),
    *MORE,
]  # fmt: skip


def of(text: str) -> tuple[str | None, Facts]:
    report = read_text(text)
    return (report.cause.cause, dict(report.cause.facts)) if report.cause is not None else (None, {})


@pytest.mark.parametrize(("cause", "facts", "text"), FIELD, ids=[f"{i}-{c}" for i, (c, _, _) in enumerate(FIELD)])
def test_cause_and_facts(cause: str, facts: Facts, text: str) -> None:
    found, told = of(text)
    assert found == cause
    assert {name: told.get(name) for name in facts} == facts


@pytest.mark.parametrize(("cause", "facts", "text"), FIELD, ids=[f"{i}-{c}" for i, (c, _, _) in enumerate(FIELD)])
def test_a_quoted_text_with_windows_line_ends_says_the_same(cause: str, facts: Facts, text: str) -> None:
    quoted = "".join(f"> {line}\r\n" for line in text.splitlines())
    assert of(quoted)[0] == cause


@pytest.mark.parametrize(("cause", "facts", "text"), FIELD, ids=[f"{i}-{c}" for i, (c, _, _) in enumerate(FIELD)])
def test_every_text_says_what_to_do_in_both_languages(cause: str, facts: Facts, text: str) -> None:
    report = read_text(text)
    assert report.cause is not None
    english, chinese = said(report.cause), said(report.cause, "zh")
    assert english.title and english.do and len(english.do) == len(chinese.do)
    assert len(english.commands) == len(chinese.commands)


CLEAN = """2026-10-10 10:10:10,100 [INFO] errors: 0, warnings: 0
[2026-10-10 10:10:11] [INFO] epoch 1 loss 0.31 error_rate 0.02
{"level":"info","msg":"retry disabled, exit code 0"}
INFO 10-10 10:10:10 [__init__.py:220] Platform plugin ascend is activated
WARNING 10-10 10:10:12 [registry.py:10] Failed to import from vllm._C with ModuleNotFoundError("No module named 'vllm._C'")
site-packages/torch_npu/contrib/transfer_to_npu.py:299: ImportWarning: The torch.Tensor.cuda are replaced with torch.Tensor.npu
[W1010 10:10:12.0 compiler_depend.ts:137] Warning: Device do not support double dtype now, dtype cast replace with float.
[Driver] [2026-03-11 10:11:13] [INFO]Driver package installed successfully! The new version takes effect immediately.
> quoted line: all ranks exited with code 0
>>> torch.npu.is_available()
"""


def test_a_clean_text_stays_silent() -> None:
    report: LogReport = read_text(CLEAN)
    assert report.cause is None and report.counted.errors == 0


def test_a_code_no_table_has_is_named_with_its_component_and_a_step() -> None:
    report = read_text("EI0099: [PID: 2] 2026-09-24-20:59:48.119.066 Something new went wrong.\n")
    assert report.cause is not None and report.cause.cause == "unmapped_family"
    for language in ("en", "zh"):
        texts = said(report.cause, language)
        assert texts.title == "EI0099: HCCL" and texts.do


def test_an_operator_that_falls_back_to_the_cpu_is_a_note_and_no_fault() -> None:
    report = read_text("[W compiler_depend.ts:67] Warning: CAUTION: The operator 'aten::nonzero_static' is not currently supported on "
                       "the NPU backend and will fall back to run on the CPU. (function npu_cpu_fallback)\n")  # fmt: skip
    assert report.cause is None
    assert [said(note).title.split(" runs")[0] for note in report.notes] == ["operator aten::nonzero_static"]
