"""Tensors: devices, copies, saving, memory, and the places where torch would reach into a device that is not there."""

from __future__ import annotations

import copy
import io

import pytest

from npu.runtime.process import current

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
nn = torch.nn
from npu.torch_npu import memory, place  # noqa: E402 - needs torch


def test_a_cpu_tensor_among_npu_tensors_is_refused_in_torchs_words(device):
    with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device, .* npu:0 and cpu!"):
        torch.ones(2, device=device) + torch.ones(2)
    assert (torch.ones(2, device=device) + torch.tensor(1.0)).tolist() == [2.0, 2.0]  # a number may lie on the host


def test_state_goes_through_files_and_onto_any_device(device):
    net = nn.Linear(3, 3).to(device)
    for location, kind in ((None, "npu"), ("cpu", "cpu"), ("npu:0", "npu")):
        stream = io.BytesIO()
        torch.save(net.state_dict(), stream)
        stream.seek(0)
        found = torch.load(stream, map_location=location)["weight"]
        assert found.device.type == kind
        assert torch.equal(found.cpu(), net.weight.detach().cpu())


def test_what_would_look_for_an_allocator_in_c_works(device):
    assert torch.UntypedStorage(16, device="npu").nbytes() == 16
    assert torch.ones(2, device=device).untyped_storage().clone().nbytes() == 8
    net = nn.Linear(2, 2).to(device)
    other = copy.deepcopy(net)
    assert torch.equal(other.weight, net.weight) and other.weight is not net.weight
    generator = torch.Generator("npu")
    generator.manual_seed(3)
    assert (
        torch.randn(2, generator=generator, device=device).tolist()
        == torch.randn(2, generator=torch.Generator().manual_seed(3)).tolist()
    )


def test_conjugated_and_negated_views_are_resolved(device):
    x = torch.randn(4, 2)
    there, here = torch.view_as_complex(x.to(device)), torch.view_as_complex(x)
    assert torch.equal(there.conj().imag.cpu(), here.conj().imag)
    assert torch.equal((there.conj() * there).cpu(), here.conj() * here)


def test_results_grow_into_out_and_resize_keeps_what_was_there(device):
    x = torch.arange(6.0, device=device)
    out = torch.empty(0, device=device)
    torch.add(x, x, out=out)
    assert out.tolist() == [0, 2, 4, 6, 8, 10]
    grown = torch.arange(4.0, device=device).resize_(6)
    assert grown[:4].tolist() == [0, 1, 2, 3] and grown.shape == (6,)


@pytest.mark.parametrize(("make", "told"), [
    (lambda: torch.from_dlpack(torch.ones(2, device="npu")), "DLPack exchange of npu tensors"),
    (lambda: torch.ones(2, device="npu").untyped_storage().resize_(64), "cannot be resized in the simulation"),
])  # fmt: skip
def test_what_cannot_be_simulated_is_refused_by_its_name(device, make, told):
    with pytest.raises(RuntimeError, match=told):
        make()


def test_memory_follows_the_life_of_tensors_in_blocks_of_512_bytes(device):
    npu = torch.npu
    before = npu.memory_allocated()
    x = torch.empty(100, device=device)  # 400 bytes
    y = torch.empty(3, 1000, device=device)  # 12,000 bytes -> 12,288
    view = y[1]
    assert npu.memory_allocated() - before == 512 + 12288
    del y
    assert npu.memory_allocated() - before == 512 + 12288  # the view holds it
    del view, x
    assert npu.memory_allocated() == before


def test_more_than_the_device_has_is_refused_as_the_framework_words_it(device):
    with pytest.raises(
        torch.OutOfMemoryError, match=r"NPU out of memory. Tried to allocate 80.00 GiB \(NPU 0; 60.74 GiB total capacity"
    ):
        torch.empty(80 << 30, dtype=torch.uint8, device=device)


def test_an_asynchronous_read_shows_old_bytes_until_it_has_ended(device):
    x = torch.randn(256, 256, device=device)
    for _ in range(20):
        x = x @ x
        x = x / x.norm()
    target = torch.zeros(256, 256, pin_memory=True)
    target.copy_(x, non_blocking=True)
    assert target.abs().sum().item() == 0.0
    torch.npu.synchronize()
    assert torch.equal(target, x.cpu())


def test_streams_and_events_order_and_measure_the_device(device):
    npu = torch.npu
    side, begun, ended = npu.Stream(), npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    x = torch.randn(2048, 2048, device=device)
    npu.synchronize()
    begun.record()
    side.wait_event(begun)
    with npu.stream(side):
        assert npu.current_stream() == side
        y = x @ (x @ x)
    npu.current_stream().wait_stream(side)
    ended.record()
    assert not ended.query()
    ended.synchronize()
    assert side.query() and 0 < begun.elapsed_time(ended) < 5
    assert y.shape == (2048, 2048)
    with pytest.raises(RuntimeError, match="enable_timing"):
        plain = npu.Event()
        plain.record()
        begun.elapsed_time(plain)


def test_the_backward_pass_shares_the_time_of_its_caller(device):
    net = nn.Linear(64, 64).to(device)
    loss = net(torch.randn(8, 64, device=device)).sum()
    _, thread = place.enter()
    thread.clock.leave()
    before = thread.clock.now
    loss.backward()
    assert thread.clock.now >= before + 3 * 24_000  # the engine's launches: 24 us of host time each
    assert not thread.waiting


def test_several_devices_hold_their_own_tensors_and_gradients_find_back(device):
    first, second = nn.Linear(4, 4).to("npu:0"), nn.Linear(4, 2).to("npu:1")
    x = torch.randn(2, 4, device="npu:0")
    out = second(first(x).to("npu:1")).sum()
    out.backward()
    assert (first.weight.grad.device.index, second.weight.grad.device.index, out.device.index) == (0, 1, 1)
    with pytest.raises(RuntimeError, match="npu:0 and npu:1"):
        first.weight + second.weight[0, 0:1]
    assert memory.of(current()).caches[1].allocated > 0
    assert torch.ones(2).npu(2).device.index == 2


def test_a_compiled_graph_runs_on_the_device_of_its_tensors(device):
    pytest.importorskip("onnx_ir", reason="the graph engine is not installed: pip install 'npuscope[sim]'")
    net, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("npu:1"), torch.randn(2, 4, device="npu:1")
    out = torch.compile(net, backend="npu")(x)
    assert out.device == torch.device("npu:1") and torch.equal(out.cpu(), net(x).cpu())
    out.sum().backward()
    assert net[0].weight.grad.device == torch.device("npu:1")
