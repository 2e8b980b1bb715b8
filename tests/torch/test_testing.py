"""torch_npu.testing as tests of operators use it: what is equal within tolerances, and one test for each type and format."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")

SCRIPT = """
import unittest
import numpy as np, torch, torch_npu
from torch_npu.testing.testcase import TestCase, run_tests
from torch_npu.testing.common_utils import SupportedDevices, create_common_tensor, create_dtype_tensor, skipIfUnsupportMultiNPU
from torch_npu.testing.decorator import Dtypes, Formats, instantiate_tests

seen = []

@instantiate_tests
class TestAdd(TestCase):
    @Dtypes(torch.float32, torch.half, torch.int32)
    @Formats(-1, 2)
    def test_add(self, device, dtype, npu_format):
        cpu, npu = create_dtype_tensor((4, 6), dtype, npu_format)
        seen.append((str(dtype), npu_format, device))
        self.assertRtolEqual((cpu + cpu).numpy(), (npu + npu).cpu().numpy())

    def test_common(self):
        cpu, npu = create_common_tensor([np.float32, -1, (3, 4)], -1, 1)
        assert npu.device.type == "npu" and cpu.dtype == torch.float32 and cpu.abs().max() <= 1
        self.assertEqual(cpu, npu)

    def test_differences_are_found(self):
        one = torch.zeros(1000)
        few, many = one.clone(), one.clone()
        many[:2] = 1  # two of a thousand differ: more than the share 1e-4
        for bad in (lambda: self.assertRtolEqual(one, many), lambda: self.assertRtolEqual(one, one.half()),
                    lambda: self.assertRtolEqual(one, one[:5]), lambda: self.assertEqual(one, many),
                    lambda: self.assertEqual([1, {"a": 2.0}], [1, {"a": 2.1}]), lambda: self.assertNotEqual(one, few),
                    lambda: self.assertRtolEqual(torch.tensor([float("nan")]), torch.tensor([1.0]))):
            with self.assertRaises(AssertionError):
                bad()
        self.assertRtolEqual(one.half(), one.half() + 0.0009)  # half types: 1e-3
        self.assertEqual({"a": [one]}, {"a": [few]})
        self.assertNotEqual(one, many)

    @SupportedDevices(["Ascend310"])
    def test_other_chip(self):
        raise RuntimeError

    @skipIfUnsupportMultiNPU(1000)
    def test_many(self):
        raise RuntimeError

result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd))
print(result.testsRun, len(result.skipped), result.wasSuccessful(), sorted(seen)[0], callable(run_tests))
"""


def test_a_script_of_operator_tests_runs(recorded):
    _, said = recorded(SCRIPT)
    assert said.splitlines()[0] == "10 2 True ('torch.float16', -1, 'npu') True"
