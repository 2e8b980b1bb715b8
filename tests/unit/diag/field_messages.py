"""More messages as people paste them, each with its cause and the facts that cause needs. Values are made up."""

from __future__ import annotations

MORE: list[tuple[str, dict[str, str], str]] = [
    ("converter_soc_version", {"value": "Ascend910C"},
     "E10001: [PID: 12] 2026-02-03-10:22:33.100.200 Value [Ascend910C] for parameter [--soc_version] is invalid. Reason: The current "
     "version does not support this soc_version.\n        Solution: Try again with a valid argument.\n"),
    ("converter_input_name", {"name": "images", "option": "--input_shape"},
     "ATC run failed, Please check the detail log, Try 'atc --help' for more information\nE10016: 2026-02-03-10:22:33.100.200 Opname "
     "[images] specified in [--input_shape] is not found in the model. Confirm whether this node name exists.\n"),
    ("converter_shape_missing", {"name": "x", "shape": "-1, 3, -1, -1"},
     "[PID: 7] 2026-02-03-05:57:01.024.245 Invalid_Argument(E10001): Value [-1, 3, -1, -1] for parameter x is invalid. Reason: maybe "
     "you should set input_shape to specify its shape.\n"),
    ("converter_input_shape", {},
     "[PID: 7] 2026-02-03-05:57:01.024.245 Invalid_Argument_Tensor_Input_Shape(E10049): Dimension count 3 configured in --input_shape "
     "does not match dimension count 4 of the node.\n"),
    ("converter_option", {"option": "--precision_mode", "value": "fp16"},
     "E10001: [PID: 12] 2026-02-03-10:22:33.100.200 Value [fp16] for parameter [--precision_mode] is invalid. Reason: not allowed.\n"),
    ("converter_option", {"option": "--precision_mode", "with": "--precision_mode_v2"},
     "E10056: 2026-02-03-10:22:33.100.200 Cannot configure both parameters [--precision_mode] and [--precision_mode_v2] "
     "simultaneously.\n"),
    ("converter_operator_unknown", {"op_name": "NonMaxSuppressionV9", "opset": "13", "domain": "ai.onnx", "node": "/model.22/Nms"},
     "E19010: No parser is registered for Op [/model.22/Nms, optype [ai.onnx::13::NonMaxSuppressionV9]].\n"),
    ("graph_operator_unsupported", {"op_name": "GridSampler2D", "node": "GridSampler2D1"},
     "EZ3003: [PID: 51] 2026-01-02-10:11:13.000.111 No supported Ops kernel and engine are found for [GridSampler2D1], optype "
     "[GridSampler2D].\n"),
    ("converter_file", {"path": "/home/a/fusion_switch.cfg", "reason": "json syntax error"},
     "E21002: 2026-02-02-02:02:02.111.111 Failed to read or parse the file [/home/a/fusion_switch.cfg]. Reason: json syntax error\n"),
    ("aipp_configuration", {"option": "src_image_size_w", "reason": "src_image_size_w must be even"},
     "E14001: 2026-02-02-02:02:02.111.111 Argument [src_image_size_w] for op [aipp] is invalid. Reason: src_image_size_w must be even\n"),
    ("converter_model_data", {}, "E16004: [PID: 3] 2026-02-02-02:02:02.111.111 The ONNX model has no graph.\n"),
    ("operator_dtype", {}, "E60003: [PID: 3] 2026-02-02-02:02:02.111.111 the dtype of input x is not one of those supported\n"),
    ("operator_tiling", {}, "E60026: [PID: 3] 2026-02-02-02:02:02.111.111 tiling data of the op are wrong\n"),
    ("operator_arguments", {}, "E50036: [PID: 3] 2026-02-02-02:02:02.111.111 the shapes differ\n"),
    ("operator_dtype", {"op_name": "AddN", "dtype": "DT_INT64"},
     "EZ9999: Inner Error!\nEZ9999: [PID: 78] 2026-02-12-11:20:00.120.300 op[AddN], not supported dtype DT_INT64[FUNC:X]\n"),
    ("internal_failure", {"said": "op[MatMul], check shape failed, a_shape[2] 64 != b_shape[1] 128"},
     "E89999: Inner Error, Please contact support engineer!\n"
     "E89999  op[MatMul], check shape failed, a_shape[2] 64 != b_shape[1] 128\n"),
    ("operator_failed_above", {"op_name": "aclnnMatmul"},
     "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator "
     "name is aclnnMatmul.\n[ERROR] 2026-03-05-09:12:31 (PID:2201, Device:0, RankID:-1) ERR00005 PTA internal error\n"),
    ("model_file", {"reason": "model magic num 0x0 is invalid"},
     "[ERROR] GE(4,python3):2026-09-10-10:10:10.100.050 [model_helper.cc:210]4 LoadRootModel: ErrorNo: 4294967295(failed) "
     "[LOAD][LOAD]model magic num 0x0 is invalid\n"
     "[ERROR] ASCENDCL(4,python3):2026-09-10-10:10:10.100.100 [model.cpp:1100]4 aclmdlLoadFromFile: failed, ge result[145003]\n"),
    ("service_start_failed", {},
     "[mindie] 2026-06-06 06:06:06.123 ERROR [MIE04E02010F] [llm_daemon] Failed to init endpoint! Please check the service log or "
     "console output.\nKilled\n"),
    ("hccl_notify_timeout", {"peer": "5"},
     "EI0002: [PID: 41] 2026-06-25-12:24:59.100.200 The wait execution of the Notify register times out. Reason: The Notify register "
     "has not received the Notify record from remote rank [5].base information: [streamID:[2654], taskID[6], tag[AllReduce_a]]\n"),
    ("hccl_notify_timeout", {"tag": "ALLREDUCE", "timeout_s": "1800"},
     "RuntimeError: [Rank 1] Watchdog caught collective operation timeout: WorkHCCL(SeqNum=1881, OpType=ALLREDUCE, "
     "Timeout(ms)=1800000) ran for 1800086 milliseconds before timing out.\n"),
    ("hccl_connect_timeout", {"peer": "8", "address": "192.0.2.12", "status": "time out"},
     "EI0006: [PID: 99] 2026-04-04-04:06:04.000.100 Getting socket times out. Reason: Remote Rank did not send the data in time.\n"
     "[ERROR] HCCL(99,python):2026-04-04-04:06:04.000.000 [hccl_socket_manager.cc:840][99][PrintErrorConnection]   |   192.0.2.12(8)"
     "   |  16666  |   192.0.2.11(0)   |  16666  |   client   |  time out | 0 |\n"),
    ("hccl_connect_timeout", {"joined": "3", "ranks": "4", "timeout_s": "601"},
     "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.\n"),
    ("hccl_rank_table", {"field": "server_count"},
     "[ERROR] HCCL(33,python):2026-04-04-04:04:04.000.001 [topoinfo_ranktableParser.cc:99] [33][Get][JsonProperty]"
     "errNo[0x0000000005000001] json property[server_count] is not found\n"),
    ("hccl_buffer_too_small", {"needed": "1977", "have": "200"},
     "EZ9999[PID: 11] 2026-01-20-03:04:05.111.222 (EZ9999): HCCL_BUFFSIZE is too SMALL, maxBs = 256, h = 7168, k = 8, "
     "NEEDED_HCCL_BUFFSIZE(((maxBs * tokenNeedSizeDispatch) * 2) = 1977MB, HCCL_BUFFSIZE=200MB.[FUNC:CheckWinSize]\n"
     "        TraceBack (most recent call last):\n        MoeDistributeDispatch do tiling failed, ret is -1.\n"),
    ("hccl_failure", {"hccl_code": "7"},
     "hccl interface return err ./common/src/hccl_test_common.cc:538, retcode: 7\nThis is an error in init_hcclComm.\n"),
    ("visible_devices_changed", {"inner": "0x7020014", "device_id": "0"},
     "EL0003: [PID: 70] 2026-06-26-11:50:18.411.922 The argument is invalid.\n        TraceBack (most recent call last):\n"
     "        Failed to open device, retCode=0x7020014, deviceId=0.[FUNC:InitRawDriver]\n"),
    ("device_open_refused", {"device_id": "0"},
     "RuntimeError: Ascend kernel runtime initialization failed, device id: 0. The details refer to 'Ascend Error Message'.\n"
     "EE8888: Inner Error!\n"),
    ("mindspore_version_mismatch", {"have": "2.3.0", "package": "7.6", "wanted": "'7.3', '7.4'"},
     "[WARNING] ME(12:28,MainProcess):2026-08-30-10:00:00.123.456 [run_check/_check_version.py:328] MindSpore version 2.3.0 and Ascend "
     "AI software package (Ascend Data Center Solution)version 7.6 does not match, the version of software package expect one of "
     "['7.3', '7.4'].\n[ERROR] DEVICE(12,ff,python):2026-08-30-10:00:02.123.456 [kernel_runtime_manager.cc:150] Init failed\n"),
    ("copy_larger_than_destination", {"room": "1024", "asked": "4096"},
     "[ERROR] RUNTIME(8,python):2026-07-07-07:07:07.000.000 [npu_driver.cc:1020] 8 MemCopySync:[drv api] drvMemcpy failed: "
     "destMax=1024(bytes), size=4096(bytes), kind=1, drvRetCode=8!\n"),
    ("memory_changed_while_measured", {"before": "60.1", "now": "61.0"},
     "AssertionError: Error in memory profiling. Initial free memory 60.1, current free memory 61.0. This happens when the NPU memory "
     "was not properly cleaned up before initializing the vLLM instance.\n"),
    ("host_out_of_memory", {}, "slurmstepd: error: Detected 1 oom_kill event in StepId=33.0.\n"),
    ("host_out_of_memory", {}, "/usr/bin/bash: line 1: 22334 Killed                  python3 train.py\n"),
    ("module_refused", {"module": "drv_pcie", "reason": "disagrees about version of symbol module_layout"},
     "[  12.345679] drv_pcie: disagrees about version of symbol module_layout\n"),
    ("module_refused", {"module": "drv_pcie", "reason": "Key was rejected by service"},
     "insmod: ERROR: could not insert module drv_pcie.ko: Key was rejected by service\n"),
    ("module_refused", {"module": "drv_davinci_intf", "reason": "Required key not available"},
     "modprobe: ERROR: could not insert 'drv_davinci_intf': Required key not available\n"),
    ("pcie_fault", {"severity": "Fatal"},
     "[  999.111112] pcieport 0000:3a:00.0: AER: Uncorrected (Fatal) error received: id=3a00\n"),
    ("install_tools_missing", {},
     "[Driver] [2026-05-06 07:08:09] [ERROR]Drv_dkms_env_check failed, details in : /var/log/ascend_seclog/ascend_install.log\n"),
    ("install_not_root", {"reason": "Running user is not root"},
     "[Driver] [2026-05-06 07:08:09] [ERROR]ERR_NO:0x0080;ERR_DES:Running user is not root\n"),
    ("install_architecture", {"have": "x86_64", "wanted": "aarch64"},
     "[Toolkit] [20260303-12:12:13] [ERROR] The installation failed. The current architecture x86_64 does not match the package "
     "architecture aarch64.\n"),
    ("install_device_in_use", {},
     "[Firmware] [2026-05-06 07:08:09] [ERROR]ERR_NO:0x0090;ERR_DES:The davinci device is used by processes, cannot upgrade.\n"),
    ("command_missing", {"command": "atc"}, "bash: atc: command not found\n"),
    ("command_missing", {"command": "npu-smi"}, "bash: npu-smi：未找到命令\n"),
    ("command_missing", {"path": "/opt/Ascend/set_env.sh"}, "bash: /opt/Ascend/set_env.sh: 没有那个文件或目录\n"),
    ("device_permission", {}, "fatal: 打开设备 /dev/davinci0 失败：权限不够\n"),
    ("memory_ecc", {"acl_code": "507054"}, "RuntimeError: 运行时错误：错误码 507054\n"),
    ("device_out_of_memory", {"acl_code": "207001"}, "申请失败，aclrtMalloc 返回 207001\n"),
    ("cuda_wanted", {}, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before?\n"),
    ("no_driver", {},
     "CANN error: EZ9999: Inner Error!\n  current device: -1, in function ggml_cann_init at ggml-cann.cpp:139\n"
     "  aclrtGetDeviceCount((uint32_t*)&info.device_count)\nggml-cann.cpp:63: CANN error\n"),
    ("no_driver", {}, "Exception: Failed to get device num, ret is 507899\nDRV_ERROR_NO_DEVICE\n"),
    ("invalid_device_id", {"acl_code": "107001"},
     "2026-02-01 10:00:00.123456 [E:onnxruntime:, inference_session.cc:2044 operator()] Exception during initialization: "
     "cann_execution_provider.cc:100 CANN error executing aclrtSetDevice: 107001\n"),
    ("torch_npu_lacks_function", {"name": "npu_fusion_attention"},
     "ImportError: cannot import name 'npu_fusion_attention' from 'torch_npu' (/usr/lib/torch_npu/__init__.py)\n"),
    ("torch_npu_lacks_function", {"name": "npu_moe_distribute_dispatch_v2"},
     "AttributeError: '_OpNamespace' 'npu' object has no attribute 'npu_moe_distribute_dispatch_v2'\n"),
    ("torch_operator_missing", {"op_name": "aten::_flash_attention_forward"},
     "RuntimeError: The operator 'aten::_flash_attention_forward' is not currently supported on the NPU backend. Please open an issue.\n"),
    ("tensors_on_two_devices", {"one": "npu:0", "other_device": "cpu", "op_name": "wrapper_npu__index_select"},
     "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, npu:0 and cpu! (when checking "
     "argument for argument index in method wrapper_npu__index_select)\n"),
    ("operator_dtype", {"operand": "scale", "dtype": "DT_FLOAT16", "allowed": "DT_BFLOAT16, DT_UINT64"},
     "EZ1001: [PID: 12] 2026-01-05-06:07:08.111.222 scale dtype must be in [DT_BFLOAT16, DT_UINT64], but got DT_FLOAT16\n"),
    ("header_missing", {"header": "/opt/toolkit/tools/tikcpp/ascendc_kernel_cmake/ascendc.cmake"},
     "CMake Error at CMakeLists.txt:14 (include):\n  include could not find requested file:\n"
     "    /opt/toolkit/tools/tikcpp/ascendc_kernel_cmake/ascendc.cmake\n"),
    ("weights_damaged", {"reason": "HeaderTooLarge"},
     "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge\n"),
    ("device_permission", {},
     "[ERROR] DRV(44,python):2026-01-05-06:07:08.111.222 [ascend][curpid: 44, 44][drv][devmm][devmm_ioctl_open 90]Open device fail. "
     "(file_name=/dev/devmm_svm; errno=13)\n"),
    ("no_free_npu", {"resource": "huawei.com/Ascend910", "want": "8", "have": "7"},
     "kubelet: failed to allocate devices: requested number of devices unavailable for huawei.com/Ascend910. Requested: 8, Available: 7\n"),
    ("hccn_conf_missing", {}, "Error: can't get NPU device ip, /etc/hccn.conf is empty or not exists\n"),
    ("device_out_of_memory", {}, "the model stops with: NPU out of memory\n"),  # without figures nobody can say who fills it
]  # fmt: skip
