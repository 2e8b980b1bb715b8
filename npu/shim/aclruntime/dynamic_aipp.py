"""Settings of the preprocessing a script gives at run time, in the order and form acl takes them."""

from __future__ import annotations

from collections.abc import Sequence

import acl

from npu.shim.aclruntime.kinds import checked

DYNAMIC = 2  # type of acl.mdl.get_aipp_type
FORMATS = {"YUV420SP_U8": 1, "XRGB8888_U8": 2, "RGB888_U8": 3, "YUV400_U8": 4}  # aclAippInputFormat


class DynamicAipp:
    """The aipp_* methods of a session. They raise RuntimeError for what acl refuses."""

    _id: int
    _desc: int

    def __init__(self) -> None:
        self._aipp = self._batch = 0
        self._aipp_set = False

    def get_dym_aipp_input_exist(self) -> int:
        """How many inputs take such settings."""
        kinds = [acl.mdl.get_aipp_type(self._id, n) for n in range(acl.mdl.get_num_inputs(self._desc))]
        return sum(kind == DYNAMIC and ret == 0 for kind, _, ret in kinds)

    def check_dym_aipp_input_exist(self) -> None:
        """RuntimeError for models with several such inputs, which a session cannot tell apart."""
        if self.get_dym_aipp_input_exist() > 1:
            raise RuntimeError("the model has more than one input with dynamic AIPP")

    def aipp_set_max_batch_size(self, batch: int) -> int:
        """Begin: settings for that many pictures."""
        if self._aipp:
            acl.mdl.destroy_aipp(self._aipp)
        self._aipp, self._batch, self._aipp_set = acl.mdl.create_aipp(batch), batch, False
        checked("aclmdlCreateAIPP", 0 if self._aipp else 1)
        return 0

    def aipp_set_input_format(self, name: str) -> int:
        if name not in FORMATS:
            raise RuntimeError(f"input format {name!r}: one of {', '.join(FORMATS)}")
        return self._set("input_format", FORMATS[name])

    def aipp_set_src_image_size(self, size: Sequence[int]) -> int:
        """Width and height."""
        return self._set("src_image_size", *size)

    def aipp_set_rbuv_swap_switch(self, on: int) -> int:
        return self._set("rbuv_swap_switch", on)

    def aipp_set_ax_swap_switch(self, on: int) -> int:
        return self._set("ax_swap_switch", on)

    def aipp_set_csc_params(self, values: Sequence[int]) -> int:
        """Switch, nine of the matrix, three added after it, three before it."""
        return self._set("csc_params", *values)

    def aipp_set_crop_params(self, values: Sequence[int]) -> int:
        """Switch, left, top, width, height."""
        return self._set_each("crop_params", values)

    def aipp_set_padding_params(self, values: Sequence[int]) -> int:
        """Switch, top, bottom, left, right."""
        return self._set_each("padding_params", values)

    def aipp_set_dtc_pixel_mean(self, values: Sequence[int]) -> int:
        return self._set_each("dtc_pixel_mean", values)

    def aipp_set_dtc_pixel_min(self, values: Sequence[float]) -> int:
        return self._set_each("dtc_pixel_min", values)

    def aipp_set_pixel_var_reci(self, values: Sequence[float]) -> int:
        return self._set_each("pixel_var_reci", values)

    def set_dym_aipp_info_set(self) -> int:
        """End: runs from now on have these settings."""
        if not self._aipp:
            raise RuntimeError("aipp_set_max_batch_size was not called")
        self._aipp_set = True
        return 0

    def _set(self, what: str, *values: float) -> int:
        if not self._aipp:
            raise RuntimeError("aipp_set_max_batch_size was not called")
        checked(f"acl.mdl.set_aipp_{what}", getattr(acl.mdl, f"set_aipp_{what}")(self._aipp, *values))
        return 0

    def _set_each(self, what: str, values: Sequence[float]) -> int:
        """The same for every picture of the batch."""
        for picture in range(self._batch):
            self._set(what, *values, picture)
        return 0

    def _give_aipp(self, dataset: int) -> None:
        """Hand the settings to a run, where there are any."""
        for number in range(acl.mdl.get_num_inputs(self._desc) if self._aipp_set else 0):
            kind, attached, ret = acl.mdl.get_aipp_type(self._id, number)
            if ret == 0 and kind == DYNAMIC:
                checked("aclmdlSetInputAIPP", acl.mdl.set_input_aipp(self._id, dataset, attached, self._aipp))
