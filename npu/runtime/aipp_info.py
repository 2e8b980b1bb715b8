"""What aclmdlGetFirstAippInfo tells of an input: the fields of aclAippInfo under the names of pyACL's dictionary."""

from __future__ import annotations

from npu.aipp import FORMATS as PICTURES
from npu.aipp import Aipp, Csc, Settings
from npu.dtypes import DTYPES
from npu.dtypes import FORMATS as ACL_FORMATS
from npu.om import Tensor

NO_CSC = Csc((0,) * 9, (0,) * 3, (0,) * 3)
UNSET = Settings("", 0, 0, var_reci=(0.0, 0.0, 0.0, 0.0))  # of dynamic AIPP only formats and sizes count


def info(tensor: Tensor, wanted: Aipp) -> dict[str, object]:
    """The dictionary for an input and its preprocessing; of a dynamic one the settings are 0."""
    made = wanted.settings or UNSET
    crop, padding, csc = made.crop or (0, 0, 0, 0), made.padding or (0, 0, 0, 0), made.csc or NO_CSC
    found: dict[str, object] = {
        "inputFormat": PICTURES[made.format].number if made.format else 0,
        "srcImageSizeW": made.width,
        "srcImageSizeH": made.height,
        "cropSwitch": int(made.crop is not None),
        "resizeSwitch": int(made.resize is not None),
        "resizeOutputW": made.resize[0] if made.resize else 0,
        "resizeOutputH": made.resize[1] if made.resize else 0,
        "paddingSwitch": int(made.padding is not None),
        "cscSwitch": int(made.csc is not None),
        "rbuvSwapSwitch": int(made.rbuv_swap),
        "axSwapSwitch": int(made.ax_swap),
        "singleLineMode": 0,
        "aippExtend": 0,
        "srcFormat": ACL_FORMATS["NHWC"],
        "srcDatatype": DTYPES["uint8"][0],
        "srcDimNum": len(tensor.dims),
        "shapeCount": 1,
    }
    found |= zip(("loadStartPosW", "loadStartPosH", "cropSizeW", "cropSizeH"), crop, strict=True)
    found |= zip((f"{n}PaddingSize" for n in ("left", "right", "top", "bottom")), padding, strict=True)
    found |= zip((f"matrixR{at // 3}C{at % 3}" for at in range(9)), csc.matrix, strict=True)
    for name, values in (("inputBias", csc.input_bias), ("outputBias", csc.output_bias)):
        found |= {f"{name}{at}": v for at, v in enumerate(values)}
    found |= {f"meanChn{at}": int(v) for at, v in enumerate(made.mean)}
    for name, fours in (("minChn", made.min), ("varReciChn", made.var_reci)):
        found |= {f"{name}{at}": v for at, v in enumerate(fours)}
    out = Tensor(tensor.name, "float16", wanted.dims, "NCHW")
    found["outDims"] = [
        {"srcDims": _dims(tensor), "srcSize": tensor.bytes, "aippOutdims": _dims(out), "aippOutSize": out.bytes}
    ]
    return found


def _dims(tensor: Tensor) -> dict[str, object]:
    return {"name": tensor.name, "dimCount": len(tensor.dims), "dims": list(tensor.dims)}
