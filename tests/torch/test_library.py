"""Fused operators of the library under their names in torch_npu, against what they are made of, and torch.npu's smaller names."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'npuscope[torch]'")
functional = torch.nn.functional
from npu.torch_npu import fused, fused_attention, fused_cache, fused_experts  # noqa: E402 - needs torch

EXACT = {"rtol": 1e-5, "atol": 1e-5}


def npu(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype).to("npu")


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("mode", [0, 2, 3, 4])
def test_attention_of_any_layout_is_that_of_its_heads(device, layout, mode):
    torch.manual_seed(0)
    q, k, v = npu(2, 4, 5, 8), npu(2, 2, 7, 8), npu(2, 2, 7, 8)  # two heads of the query share one of the keys
    shaped = [fused_attention.together(t, layout) for t in (q, k, v)]
    found = fused_attention.npu_fusion_attention(*shaped, 4, layout, scale=0.3, sparse_mode=mode, pre_tockens=2, next_tockens=1)[0]
    at = torch.arange(7)[None] - torch.arange(5)[:, None]
    seen = {0: at > -99, 2: at <= 0, 3: at <= 2, 4: (at - 2 <= 1) & (at - 2 >= -2)}[mode]
    wanted = functional.scaled_dot_product_attention(*(t.cpu() for t in (q, k, v)), seen, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(fused_attention.apart(found, layout, 4).cpu(), wanted, **EXACT)


def test_attention_of_sequences_one_after_the_other(device):
    torch.manual_seed(0)
    q, k, v = (npu(9, 2, 4) for _ in range(3))
    found = fused_attention.npu_fusion_attention(
        q, k, v, 2, "TND", scale=0.5, sparse_mode=3, actual_seq_qlen=[4, 9], actual_seq_kvlen=[4, 9]
    )[0]
    for part in (slice(0, 4), slice(4, 9)):
        wanted = functional.scaled_dot_product_attention(
            *(t[part].cpu().transpose(0, 1) for t in (q, k, v)), is_causal=True, scale=0.5
        )
        torch.testing.assert_close(found[part].cpu().transpose(0, 1), wanted, **EXACT)


def test_attention_over_a_paged_cache_reads_what_was_stored(device):
    torch.manual_seed(0)
    cache = [torch.zeros(4, 2, 1, 8, device=device) for _ in range(2)]  # blocks of two tokens, one head
    key, value, query = npu(3, 1, 8), npu(3, 1, 8), npu(1, 2, 8)
    fused_cache.npu_reshape_and_cache(key, value, *cache, torch.tensor([6, 7, 2], dtype=torch.int32, device=device))
    out, table = torch.empty_like(query), torch.tensor([[3, 1]], dtype=torch.int32, device=device)
    fused_attention.npu_paged_attention(query, *cache, 1, 2, 0.5, table, [3], out)
    weights = torch.softmax(0.5 * query[0].cpu() @ key[:, 0].cpu().T, -1)
    torch.testing.assert_close(out[0].cpu(), weights @ value[:, 0].cpu(), **EXACT)
    longer = fused_attention.npu_incre_flash_attention(
        query.view(1, 1, 16), *(c.view(4, 2, 8) for c in cache), block_table=table, block_size=2, actual_seq_lengths=[3],
        num_heads=2, num_key_value_heads=1, scale_value=0.5,
    )  # fmt: skip
    torch.testing.assert_close(longer.view(2, 8).cpu(), out[0].cpu(), **EXACT)


def test_tokens_go_to_their_experts_and_back(device):
    torch.manual_seed(0)
    x, w1, w2 = npu(6, 8), npu(3, 8, 8), npu(3, 4, 8)
    weights, experts, rows = fused_experts.npu_moe_gating_top_k_softmax(npu(6, 3), None, k=2)
    assert rows.tolist()[1] == [1, 7]  # the second choices are counted behind all first ones
    tokens, places, order = fused_experts.npu_moe_init_routing(x, rows, experts, 6)
    ends = fused_experts.npu_moe_compute_expert_tokens(order, 3)
    (hidden,) = fused_experts.npu_grouped_matmul([tokens], [w1], group_list=ends, split_item=2, group_type=0)
    (back,) = fused_experts.npu_grouped_matmul([fused.npu_swiglu(hidden)], [w2], group_list=ends, split_item=2, group_type=0)
    found = fused_experts.npu_moe_finalize_routing(back, None, None, None, weights, places, experts)
    wanted = torch.zeros(6, 8)
    for token in range(6):
        for choice, weight in zip(experts[token].tolist(), weights[token].tolist(), strict=True):
            gate, value = (x[token].cpu() @ w1[choice].cpu()).chunk(2)
            wanted[token] += weight * ((functional.silu(gate) * value) @ w2[choice].cpu())
    torch.testing.assert_close(found.cpu(), wanted, **EXACT)
    permuted, places = fused_experts.npu_moe_token_permute(x, experts)
    torch.testing.assert_close(
        fused_experts.npu_moe_token_unpermute(permuted, places, weights).cpu(), (x * weights.sum(-1, keepdim=True)).cpu(), **EXACT
    )
    _, _, counts, _ = fused_experts.npu_moe_init_routing_v2(
        x, experts, active_num=12, expert_num=3, expert_tokens_num_type=1, active_expert_range=[0, 3]
    )
    assert counts.tolist() == torch.bincount(experts.cpu().flatten(), minlength=3).tolist()


def test_a_quantised_product_keeps_its_scales(device):
    torch.manual_seed(0)
    x, w = npu(4, 32), npu(32, 8)
    scale = w.abs().amax(0) / 127
    values, tokens = fused.npu_dynamic_quant(x)
    found = fused.npu_quant_matmul(
        values, (w / scale).round().to(torch.int8), scale, pertoken_scale=tokens, output_dtype=torch.float32
    )
    assert (found - x @ w).abs().max().item() < 0.05 * (x @ w).abs().max().item()


def test_gradients_go_through_fused_operators(device):
    torch.manual_seed(0)
    x, gamma = torch.randn(3, 8), torch.rand(8)
    plain = [t.clone().requires_grad_() for t in (x, gamma)]
    functional.rms_norm(plain[0], (8,), plain[1], 1e-6).pow(2).sum().backward()
    there = [t.to(device).requires_grad_() for t in (x, gamma)]
    fused.npu_rms_norm(*there)[0].pow(2).sum().backward()
    for one, other in zip(there, plain, strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, **EXACT)


@pytest.mark.parametrize("call", [
    lambda q: fused_attention.npu_fusion_attention(q, q, q, 1, "NSD"),
    lambda q: fused_attention.npu_fused_infer_attention_score(q, q, q, softmax_lse_flag=True),
    lambda q: fused_experts.npu_grouped_matmul([q], [q], act_type=1),
    lambda q: fused.npu_rotary_mul(q, q, q, rotary_mode="quarter"),
])  # fmt: skip
def test_what_is_not_simulated_is_refused_by_its_name(device, call):
    with pytest.raises(RuntimeError, match=r"^npu_\w+: "):
        call(npu(1, 2, 4, 8))


def test_small_names_of_the_device_module(device):
    found = torch.npu
    assert found.FloatTensor(2, 3).shape == (2, 3) and isinstance(torch.ones(1, device=device), found.FloatTensor)
    assert found.get_soc_version() == 222  # of Ascend910B3
    with pytest.warns(UserWarning, match="jit_compile=True"):
        found.set_compile_mode(jit_compile=True)
    x = torch.ones(4, device=device)
    x.record_stream(found.current_stream())
    event = found.ExternalEvent()
    event.record(found.current_stream())
    event.wait(found.current_stream())
    assert event.query() in (True, False)


def test_shapes_change_in_place(device):
    x = torch.arange(6.0, device=device).view(1, 6)
    assert x.squeeze_(0).shape == (6,) and x.unsqueeze_(1).shape == (6, 1) and x.t_().shape == (1, 6)
    a, b = torch.randn(3), torch.randn(3, 2)
    torch.testing.assert_close((a.to(device) @ b.to(device)).cpu(), a @ b)
    assert math.isclose(x.sum().item(), 15.0)


def test_a_factory_names_its_device_although_another_is_current(device):
    torch.npu.set_device(1)
    try:
        assert torch.ones(2, device="npu:0").device.index == 0
        assert torch.ones(2, device="npu").device.index == 1
        assert torch.zeros_like(torch.ones(2, device="npu:0")).device.index == 0
    finally:
        torch.npu.set_device(0)


def test_numbers_stand_where_operators_want_tensors(device):
    x = torch.arange(5, device=device)
    assert (x // 2 % 2).tolist() == [0, 0, 1, 1, 0] and torch.remainder(7, x + 1).tolist() == [0, 1, 1, 3, 2]
    assert (torch.tensor(3.0, dtype=torch.half, device=device) % 2).dtype == torch.half
    assert torch.fmod(x, 1.5).dtype == torch.float32


def test_derivatives_of_derivatives_forward_and_back(device):
    x = torch.tensor([1.0, 2.0], device=device)
    assert torch.func.hessian(lambda a: (a**3).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
