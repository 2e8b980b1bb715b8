"""The media engine's times: a floor and a rate per unit, slower on the small inference chip."""

import pytest

from npu import soc
from npu.cost.dvpp import UNITS, dvpp_ns, table

B3, OLD = soc.find("910B3"), soc.find("310")


def test_a_job_costs_its_floor_and_its_pixels():
    assert dvpp_ns("vpc", 0, B3) == 100_000
    assert dvpp_ns("vpc", 4_000_000, B3) == 100_000 + 1_000_000
    assert dvpp_ns("jpegd", 1920 * 1080, OLD) == 200_000 + round(1920 * 1080 / 0.53)  # 256 a second and a little more


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_has_a_rate_and_the_old_chip_is_no_faster(unit):
    assert ("*", unit) in table()
    assert dvpp_ns(unit, 1 << 20, OLD) > dvpp_ns(unit, 1 << 20, B3)


def test_unknown_units_are_refused_by_name():
    with pytest.raises(ValueError, match="venc"):
        dvpp_ns("venc", 1, B3)
    with pytest.raises(ValueError, match="-1 pixels"):
        dvpp_ns("vpc", -1, B3)
