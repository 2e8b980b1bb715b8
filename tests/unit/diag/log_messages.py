"""Messages as people meet them on consoles and in plogs, with the cause they speak for. Values are made up."""

from __future__ import annotations

MESSAGES: dict[str, tuple[str | None, str]] = {
    "ec0010": (
        "numpy_too_new",
        "2026-03-04 13:15:44.054 | ERROR    | magic_pdf.tools.cli:parse_doc:134 - Initialize:build/CMakeFiles"
        "/torch_npu.dir/compiler_depend.ts:217 NPU function error: at_npu::native::AclSetCompileopt(aclCompil"
        "eOpt::ACL_PRECISION_MODE, precision_mode), error code is 500001\n"
        "[ERROR] 2026-03-04-13:15:44 (PID:96, Device:0, RankID:-1) ERR00100 PTA call acl api failed\n"
        "[Error]: The internal ACL of the system is incorrect.\n"
        "        Rectify the fault based on the error information in the ascend log.\n"
        "EC0010: 2026-03-04-13:15:44.018.468 Failed to import Python module [AttributeError: `np.float_` was "
        "removed in the NumPy 2.0 release. Use `np.float64` instead..].\n"
        "        Solution: Check that all required components are properly installed.\n"
        "        TraceBack (most recent call last):\n"
        "        AOE Failed to call InitCannKB\n"
        "        [GraphOpt][InitializeInner][InitTbeFunc] Failed to init tbe.[FUNC:InitializeInner][FILE:tbe_"
        "op_store_adapter.cc][LINE:1719]\n",
    ),
    "ec0010b": (
        "operator_compiler_python",
        "EC0010: [PID: 96] 2026-03-04-13:15:44.018.468 Failed to import Python module [ModuleNotFoundError: N"
        "o module named 'decorator'.].\n"
        "        Solution: Check.\n",
    ),
    "init env": (
        "operator_compiler_python",
        "EH9999: Inner Error!\n"
        "EH9999  [Init][Env]init env failed![FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]\n"
        "        TraceBack (most recent call last):\n"
        "        build op model failed, result = 500001[FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]\n"
        "\n"
        "Aborted (core dumped)\n",
    ),
    "hal": (
        "driver_library_missing",
        "ImportError: libascend_hal.so: cannot open shared object file: No such file or directory\n"
        "RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loadin"
        "g with TORCH_DEVICE_BACKEND_AUTOLOAD=0.\n",
    ),
    "hccl": (
        "cann_library_missing",
        "Traceback (most recent call last):\n"
        '  File "<string>", line 1, in <module>\n'
        "    from torch_npu import _C\n"
        "ImportError: libhccl.so: cannot open shared object file: No such file or directory\n"
        "\n"
        "During handling of the above exception, another exception occurred:\n",
    ),
    "atb": (
        "nnal_library_missing",
        "ERROR 06-16 02:47:10 [multiproc_executor.py:870] OSError: libatb.so: cannot open shared object file:"
        " No such file or directory\n"
        "ERROR 06-16 02:47:10 [multiproc_executor.py:870] OSError: Could not load this library: /opt/env/libop"
        "_plugin_atb.so\n",
    ),
    "mki": (
        "nnal_symbol_mismatch",
        "OSError: /opt/ascend/nnal/atb/latest/atb/cxx_abi_1/lib/libtbe_adapter.so: undefined symbol: _ZN"
        "3Mki2DlC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb\n",
    ),
    "ge sym": (
        "symbol_mismatch",
        "[ERROR] GE(269156,main):2026-03-04-15:59:07.739.753 [host_cpu_engine.cc:288]947062 LoadLib: ErrorNo:"
        " 1343225860(Internal errors) [INIT][DEFAULT][Invoke][DlOpen] failed. path = /usr/local/Ascend/ascend"
        "-toolkit/7.0.RC1/opp/built-in/op_impl/host_cpu/libops_host_cpu.so, error = /usr/local/Ascend/ascend-"
        "toolkit/7.0.RC1/opp/built-in/op_impl/host_cpu/libops_host_cpu.so: undefined symbol: _ZN2ge14GetShape"
        "ErrMsgEjRKSsS1_\n"
        "[ERROR] ASCENDCL(269156,main):2026-03-04-15:59:08.739.753 [device.cpp:66]947062 aclrtSetDevice: [Set"
        "][Device]open device 0 failed, runtime result = 507033.\n",
    ),
    "streams": (
        "scheduler_resources",
        "(EngineCore pid=4960229) RuntimeError: Worker failed with error 'NPUModelRunner init failed, error i"
        "s NPUModelRunner failed, error is capture_begin:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:21"
        "4 NPU function error: c10_npu::acl::AclmdlRICaptureBegin(capture_stream_, capture_mode), error code "
        "is 207005\n"
        "(EngineCore pid=4960229) [ERROR] 2026-03-04-09:16:39 (PID:2730838, Device:0, RankID:-1) ERR00100 PTA"
        " call acl api failed\n"
        "(EngineCore pid=4960229) [Error]: Failed to apply for memory.\n"
        "(EngineCore pid=4960229)         Check the remaining storage space in the hardware environment.\n"
        "(EngineCore pid=4960229) EE9999: Inner Error!\n"
        "(EngineCore pid=4960229) EE9999[PID: 2730838] 2026-03-04-09:16:39.992.922 (EE9999):  [SqCqManage]All"
        "oc sq cq fail, stream_id=1984, retCode=0x7020023.[FUNC:Setup][FILE:stream.cc][LINE:1]\n",
    ),
    "streams2": (
        "scheduler_resources",
        "capture_begin:../torch_npu/csrc/core/npu/NPUGraph.cpp:230 NPU function error: c10_npu::acl::AclmdlRI"
        "CaptureBegin(capture_stream_, capture_mode), error code is 207008\n"
        "[ERROR] 2026-03-04-10:17:18 (PID:12597, Device:0, RankID:-1) ERR00100 PTA call acl api failed\n"
        "[Error]: Stream resources are insufficient.\n"
        "        Check whether the number of streams meets the requirements by referring to the description o"
        "f the acl.rt.create_stream interface.\n"
        "[PID: 12597] 2026-03-04-10:17:18.891.861 Insufficient_Stream_Resources(EL0009): The stream resources"
        " are insufficient.\n"
        "        Solution: Close applications not in use.\n"
        "        TraceBack (most recent call last):\n"
        "        rtStreamBeginCapture execution failed, reason=driver error:no stream resource[FUNC:FuncError"
        "Reason][FILE:error_message_manage.cc][LINE:65]\n",
    ),
    "streams3": (
        "scheduler_resources",
        "(vLLMHttpServer pid=82011) (Worker_TP3 pid=47929) ERROR 04-20 21:27:00 [multiproc_executor.py:932]  "
        "       TraceBack (most recent call last):\n"
        "(vLLMHttpServer pid=82011) (Worker_TP3 pid=47929) ERROR 04-20 21:27:00 [multiproc_executor.py:932]  "
        "      New capture stream failed, stream_id=1987, event_id=[-1->70037].[FUNC:GetCaptureStream][FILE:c"
        "apture_model_utils.cc][LINE:92]\n"
        "(vLLMHttpServer pid=82011) (Worker_TP3 pid=47929) ERROR 04-20 21:27:00 [multiproc_executor.py:932]  "
        "      Create capture stream failed, stream_id=1987, event_id=-1, error=117571619.[FUNC:CaptureEventW"
        "ait][FILE:api_impl.cc][LINE:1514]\n"
        "(vLLMHttpServer pid=82011) (Worker_TP3 pid=47929) ERROR 04-20 21:27:00 [multiproc_executor.py:932]  "
        "      stream wait event failed, runtime result = 207005[FUNC:ReportCallError][FILE:log_inner.cpp][LI"
        "NE:148]\n",
    ),
    "hccp": (
        "hccp_leftover",
        "(TaskRunner pid=917622) RuntimeError: create_config:build/CMakeFiles/torch_npu.dir/compiler_depend.t"
        "s:102 HCCL function error: hcclCommInitRootInfoConfig(numRanks, &rootInfo, rank, config, &(comm->hcc"
        "lComm_)), error code is 7\n"
        "(TaskRunner pid=917622) [ERROR] 2026-03-04-16:14:56 (PID:967037, Device:0, RankID:2) ERR02200 DIST c"
        "all hccl api failed.\n"
        "(TaskRunner pid=917622) EJ0001: [PID: 967037] 2026-03-04-16:14:56.975.866 Failed to initialize the H"
        "CCP process. Reason: Maybe the last training process is running.\n"
        "(TaskRunner pid=917622)         Solution: Wait for 10s after killing the last training process and t"
        "ry again.\n"
        "(TaskRunner pid=917622)         TraceBack (most recent call last):\n"
        "(TaskRunner pid=917622)         tsd client wait response fail, hostpid:5366340, device response code"
        "[1]. unknown device error.[FUNC:WaitRsp][FILE:process_mode_manager.cpp][LINE:332]\n"
        "(TaskRunner pid=917622)         Fail to get sq reg virtual addr, deviceId=0, sqId=34.[FUNC:Setup][FI"
        "LE:stream.cc][LINE:646]\n",
    ),
    "heart": (
        "device_lost",
        "[PID: 378] 2026-03-04-10:59:14.702.326 Device_Absent/Abnormal(EL0001): Device not found or invalid.\n"
        "        Possible Cause: Device does not exist or is abnormal.\n"
        "        Solution: Check the error messages in the log.\n"
        "        TraceBack (most recent call last):\n"
        "        [drv api] halCqReportRecv failed: device_id=1, ts_id=0, type=2, logic_cq=4, drv_ret_code=33["
        "FUNC:LogicCqReportV2][FILE:npu_driver_res.cc][LINE:2103]\n"
        "        Device[1] lost heartbeat.[FUNC:SyncTask][FILE:direct_hwts_engine.cc][LINE:407]\n"
        "        rtDeviceSynchronizeWithTimeout execution failed, reason=lost heartbeat[FUNC:FuncErrorReason]"
        "[FILE:error_message_manage.cc][LINE:65]\n"
        "        wait for compute device to finish failed, runtime result = 507010.[FUNC:ReportCallError][FIL"
        "E:log_inner.cpp][LINE:148]\n",
    ),
    "vec timeout": (
        "kernel_timeout",
        "[rank0]:[W610 17:20:44.224261525 NPUStream.cpp:647] Warning: NPU warning, error code is 507034[Error"
        "]: \n"
        "[Error]: Vector core execution timed out. \n"
        "        Rectify the fault based on the error information in the ascend log.\n"
        "EE9999: Inner Error!\n"
        "EE9999[PID: 35353] 2026-03-04-17:20:44.486.049 (EE9999):  rtDeviceSynchronizeWithTimeout execution f"
        "ailed, reason=vector core timeout[FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:65]\n"
        "TraceBack (most recent call last):\n"
        "       wait for compute device to finish failed, runtime result = 507034.[FUNC:ReportCallError][FILE"
        ":log_inner.cpp][LINE:148]\n"
        " (function npuSynchronizeUsedDevices)\n",
    ),
    "507014": (
        "aicore_exception",
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612) [rank1]:[E1129 10:54:13.679153542 compiler_"
        "depend.ts:444] operator():build/CMakeFiles/torch_npu.dir/compiler_depend.ts:1153 NPU function error:"
        " call failed, error code is 507014\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612) [ERROR] 2026-03-04-10:54:13 (PID:50612, Dev"
        "ice:1, RankID:-1) ERR00100 PTA call acl api failed\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612) [Error]: The aicore execution times out. \n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612)         Rectify the fault based on the erro"
        "r information in the ascend log.\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612) [PID: 50612] 2026-03-04-10:54:13.230.208 Ac"
        "lNN_Runtime_Error(EZ9903): rtKernelLaunchWithHandleV2 failed: 507014\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612)         Solution: In this scenario, collect"
        " the plog when the fault occurs and locate the fault based on the plog.\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612)         TraceBack (most recent call last):\n"
        "(EngineCore_DP0 pid=272824) (RayWorkerWrapper pid=50612)         The error from device(chipId:1, die"
        "Id:0), serial number is 3, there is an exception of fftsplus aicore timeout, core id is 3, error cod"
        "e = 0\n",
    ),
    "parse dyn": (
        "kernels_missing",
        "CANN error: EZ9999: Inner Error!\n"
        "EZ9999: 2026-03-04-00:54:30.240.432  Parse dynamic kernel config fail.\n"
        "        TraceBack (most recent call last):\n"
        "        AclOpKernelInit failed opType\n"
        "        Op Add does not has any binary.\n",
    ),
    "561103": (
        "operator_internal",
        "(EngineCore_DP0 pid=6037287) ERROR 12-10 10:52:09 [patch_core.py:58] RuntimeError: zero_:build/CMake"
        "Files/torch_npu.dir/compiler_depend.ts:26 NPU function error: call aclnnInplaceZero failed, error co"
        "de is 561103\n"
        "(EngineCore_DP0 pid=6037287) ERROR 12-10 10:52:09 [patch_core.py:58] [ERROR] 2026-03-04-10:52:09 (PI"
        "D:3473945, Device:0, RankID:-1) ERR00100 PTA call acl api failed.\n",
    ),
    "87": (
        "device_permission",
        "[ERROR] RUNTIME(9,python):2026-03-04-00:00:01.000.000 [npu_driver.cc:300]9 GetDeviceCount:[drv api] "
        "drvGetDevNum failed, drvRetCode=87\n"
        "[ERROR] ASCENDCL(9,python):2026-03-04-00:00:01.000.100 [acl.cpp:1]9 aclInit: init failed, runtime re"
        "sult = 507899\n",
    ),
    "watchdog": (
        "hccl_notify_timeout",
        "[rank1]:[E324 13:00:25.428029551 compiler_depend.ts:574] [Rank 1] Watchdog caught collective operati"
        "on timeout: WorkHCCL(SeqNum=196, OpType=ALLREDUCE, Timeout(ms)=3600000) ran for 3600185 milliseconds"
        " before timing out.\n"
        "[rank1]:[E324 13:00:25.428092542 compiler_depend.ts:628] Some HCCL operations have failed or timed o"
        "ut. Due to the asynchronous nature of ASCEND kernels, subsequent NPU operations might run on corrupt"
        "ed/incomplete data.\n",
    ),
    "option": (
        "platform_config_missing",
        "bishengir-compile: Cannot find option named 'Ascend310P3'!\nEngine core initialization failed\n",
    ),
    "oom frag": (
        "memory_fragmented",
        "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capac"
        "ity; 56.05 GiB already allocated; 56.05 GiB current active; 5.04 MiB free; 58.39 GiB reserved in tot"
        "al by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to avoid frag"
        "mentation.\n",
    ),
    "oom own": (
        "allocator_out_of_memory",
        "(NPURayWorkerWrapper pid=48265) ERROR 06-09 06:57:48 worker_base.py:581] RuntimeError: NPU out of me"
        "mory. Tried to allocate 30.00 MiB (NPU 5; 60.96 GiB total capacity; 60.34 GiB already allocated; 60."
        "34 GiB current active; 15.87 MiB free; 60.36 GiB reserved in total by PyTorch) If reserved memory is"
        " >> allocated memory\n",
    ),
    "e39999": (
        "aicpu_exception",
        "EE9999: Inner Error!\n"
        "        Aicpu kernel execute failed, device_id=0, stream_id=0, task_id=7, fault so_name=libcpu_kerne"
        "ls.so, fault kernel_name=RunCpuKernel, fault op_name=, extend_info=(info_type:4, info_len:6, msg_inf"
        "o:Unique).[FUNC:GetError][FILE:stream.cc][LINE:1044]\n"
        "        Stream synchronize failed, stream = 0xaaaadd\n",
    ),
    "old core": (
        "aicore_exception",
        "[ERROR] RUNTIME(419932,python):2026-03-04-15:29:07.465.388 [device_error_proc.cc:669]170420 ProcessC"
        "oreErrorInfo:The error from device(2), serial number is 17, there is an aicore error exception, core"
        " id is 0, error code = 0x800000, dump info: pc start: 0x800124080041000, current: 0x124080041100, ve"
        "c error info: 0x1ff1d3ae\n",
    ),
    "mindspore": (
        "device_out_of_memory",
        "[ERROR] DEVICE(419932,fffe397fa1e0,python):2026-03-04-15:29:07.465.388 [mindspore/ccsrc/runtime/devi"
        "ce/ascend/ascend_memory_manager.cc:62] MallocDeviceMemory] Failed to allocate device memory: out of "
        "memory, size 1024\n",
    ),
    "compile": (
        "operator_compile",
        "[ERROR] TEFUSION(1725421,python):2026-03-04-20:35:57.663.851  ===========END OF DETAILED OP INFO OF "
        "NODE Slice=============\n"
        "[ERROR] TEFUSION(1725421,python):2026-03-04-20:35:57.663.954 [fusion_op.cc:858]3774464 ReportBuildEr"
        "rMessage Compile op[Slice] failed, oppath[/usr/local/x/slice.py], optype[Slice], taskID[9084]. Pleas"
        "e check op's compilation error message.\n",
    ),
    "notify": (
        "hccl_notify_timeout",
        "(train pid=6107) RuntimeError: npuSynchronizeDevice:build/CMakeFiles/torch_npu.dir/compiler_depend.t"
        "s:479 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507048\n"
        "(train pid=6107) [ERROR] 2026-03-04-10:45:23 (PID:35575, Device:0, RankID:8) ERR00100 PTA call acl a"
        "pi failed\n"
        "(train pid=6107) [Error]: The execution of the internal task times out. \n"
        "(train pid=6107)         Rectify the fault based on the error information in the ascend log.\n"
        "(train pid=6107) EI0002: [PID: 35575] 2026-03-04-10:45:23.586.187 The wait execution of the Notify r"
        "egister times out. Reason: The Notify register has not received the Notify record from remote rank: "
        "[unknown]. base information: [streamID:[1], taskID[8318285], tag[AllReduce_group_name_710], A\n",
    ),
    "ei6 83": (
        "hccl_connect_timeout",
        "[PID: 562] 2026-03-04-03:16:15.787.356 Get_Socket_Timeout(EI0006): Getting socket times out. Reason:"
        " 1. The remote does not initiate a connect request. some NPUs in the cluster are abnormal.    3. The"
        " communication link is disconnected. (For example, the IP addresses are not on the same network segm"
        "ent or the TLS configurations are inconsistent.)\n"
        "        Solution: 1. Check the rank service processes.\n"
        "        TraceBack (most recent call last):\n"
        "        Nnopbase fails to invoke the HcclAllocComResourceByTiling function of the hccl module. ret ="
        " 4, comm = 0xfffcc6ed27a0.\n",
    ),
    "e10016": (
        "converter_input_name",
        "ATC run failed, Please check the detail log, Try 'atc --help' for more information\n"
        "E10016: [PID: 5] 2026-03-04-00:00:00.000.000 Value [x] for parameter [--input_shape] is invalid. Opn"
        "ame [x] in parameter not found.\n"
        "        Solution: check\n",
    ),
    "cuda": (
        None,
        "WARNING 06-16 15:10:59 [_custom_ops.py:21] Failed to import from vllm._C with ImportError('libcudart"
        ".so.12: cannot open shared object file: No such file or directory')\n"
        "device: 0, GPU Compute Capability: 7.5, Driver API Version: 11.2, Runtime API Version: 10.1\n",
    ),
    "dcmi": ("device_busy", "dcmi model initialized failed, because the device is used. ret is -8020\n"),
    "8005": ("no_driver", "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\ndcmi module initialize failed. ret is -8005\n"),
    "pyvalue": (
        "python_exception",
        'Traceback (most recent call last):\n  File "x.py", line 3, in <module>\n    f()\nValueError: bad\n',
    ),
    "errNo of HCCL": (
        "hccl_failure",
        "[ERROR] HCCL(17528,python3):2026-03-18-10:34:43.142.156 [hcom.cc:515] [18111][AllReduce][Result]"
        "errNo[0x0000000005010009] AllReduce error, tag[HcomAllReduce_66], count[1048], data_type[float32], op[sum]\n",
    ),
    "port 65536": ("hccl_listen_port_in_use", "RuntimeError: port 65536 have already been bound\n"),
    "passwd": ("user_unknown", "KeyError: 'getpwuid(): uid not found: 1000'\n"),
    "opapi": (
        "symbol_mismatch",
        "RuntimeError: aclnnPromptFlashAttentionV3 or aclnnPromptFlashAttentionV3GetWorkspaceSize not in libo"
        "papi.so, or libopapi.sonot found.\n",
    ),
    "sim": (
        "no_driver",
        "[ERROR] ASCENDCL(1,python):2026-03-04-00:00:00.000.000 [x.py:1]1 aclrtSetDevice failed, error code 5"
        "07018 (public header: 107001), cause no_driver: No usable Ascend driver or firmware: device 0 cannot"
        " be opened. Install the driver and firmware that match the toolkit.\n"
        "set_device failed, ret = 507018\n",
    ),
    "sim2": (
        "model_too_new",
        "aclmdlExecute failed, error code 507033 (public header: 507011), cause model_too_new: The model was "
        "built by CANN 8.3.RC1, newer than this host's 8.0.RC2: upgrade the host, or convert the model with C"
        "ANN 8.0.RC2.\n"
        "execute failed ret=507033\n",
    ),
    "link": ("link_fault", "RuntimeError: operator():... NPU function error: HCCS LINK ERROR, error code is 507056\n"),
    "ecc": ("memory_ecc", "[Error]: HBM MULTI BIT ECC ERROR.\n"),
    "cluster": (
        "cluster_exception",
        "[ERROR] HCCL(5,python):2026-03-04-00:00:00.000.000 [heartbeat.cc:1] [5]Cluster Exception Location[IP"
        "/ID]:[10.0.0.1/3], Arrival Time:[Thu Jan 1], Discoverer:[10.0.0.2/0], ExceptionType:[Heartbeat Lost "
        "Occurred], Possible Reason:1. Process has exited.\n",
    ),
    "killed": (
        "host_out_of_memory",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED exitcode : -9 (pi"
        "d: 5)\n"
        "dmesg: Out of memory: Killed process 5 (python)\n",
    ),
    "aicpu-notimpl": (
        "aicpu_exception",
        "E39999: Inner Error!\n"
        "E39999: [PID: 9] 2026-03-04-00:00:00.000.000 An exception occurred during AICPU execution, stream_id"
        ":12, task_id:4, errcode:21008, msg:inner error[FUNC:ProcessAicpuErrorInfo][FILE:device_error_proc.cc"
        "][LINE:727]\n",
    ),
    "log folder": (
        "file_permission",
        "PermissionError: [Errno 13] Permission denied: '/root/ascend/log/debug'\n",
    ),
    "device node": (
        "device_permission",
        "open('/dev/davinci0') failed: Permission denied: /dev/davinci0\n",
    ),
    "crash": ("process_crashed", "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f:\n"),
    "fork": (
        "forked_after_use",
        "RuntimeError: Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, use 'spawn'\n",
    ),
    "warnings": (
        None,
        "/opt/env/torch_npu/__init__.py:305: UserWarning: the version of torch does not match, some features may fail\n"
        "2026-03-04 10:00:00,375 - modelscope - WARNING - cannot open shared object file, error ignored\n"
        "[WARNING] something failed, version mismatch\n",
    ),
}
