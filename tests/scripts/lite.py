"""Helper classes in the style of public samples, as text a script begins with: LITE opens devices and runs models, DVPP decodes
and scales pictures on the device; ran() runs a program behind them."""

from __future__ import annotations

from textwrap import dedent

from tests.scripts.conftest import Run

LITE = '''
import os, sys, time
import numpy as np
import acl
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
NPY_BYTE = 1
def check_ret(message, ret):
    if ret != 0:
        raise RuntimeError("{} failed ret={}".format(message, ret))
def to_ptr(array):
    """The new way where there is one."""
    if "bytes_to_ptr" in dir(acl.util):
        return acl.util.bytes_to_ptr(array.tobytes())
    return acl.util.numpy_to_ptr(array)
class Resource:
    """Opens the device and closes it in the order samples do; others may call acl after it."""
    def __init__(self, device_id=0):
        self.device_id = device_id
        check_ret("acl.init", acl.init())
        check_ret("acl.rt.set_device", acl.rt.set_device(device_id))
        self.context, ret = acl.rt.create_context(device_id)
        check_ret("create_context", ret)
        self.stream, ret = acl.rt.create_stream()
        check_ret("create_stream", ret)
        self.run_mode, ret = acl.rt.get_run_mode()
        check_ret("get_run_mode", ret)
    def __del__(self):
        acl.rt.destroy_stream(self.stream)
        acl.rt.destroy_context(self.context)
        acl.rt.reset_device(self.device_id)
        acl.finalize()
class Model:
    """Loads, allocates once, executes, reads back; releases when it goes."""
    def __init__(self, path):
        self.model_id, ret = acl.mdl.load_from_file(path)
        check_ret("load_from_file", ret)
        self.desc = acl.mdl.create_desc()
        check_ret("get_desc", acl.mdl.get_desc(self.desc, self.model_id))
        self.inputs, self.input = self._dataset(acl.mdl.get_num_inputs, acl.mdl.get_input_size_by_index)
        self.outputs, self.output = self._dataset(acl.mdl.get_num_outputs, acl.mdl.get_output_size_by_index)
    def _dataset(self, count, size_of):
        dataset, buffers = acl.mdl.create_dataset(), []
        for i in range(count(self.desc)):
            size = size_of(self.desc, i)
            buffer, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
            check_ret("malloc", ret)
            _, ret = acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(buffer, size))
            check_ret("add_dataset_buffer", ret)
            buffers.append((buffer, size))
        return buffers, dataset
    def execute(self, arrays, stream=None):
        for (buffer, size), array in zip(self.inputs, arrays):
            assert array.nbytes == size, (array.nbytes, size)
            check_ret("memcpy", acl.rt.memcpy(buffer, size, to_ptr(array), size, ACL_MEMCPY_HOST_TO_DEVICE))
        if stream is None:
            check_ret("execute", acl.mdl.execute(self.model_id, self.input, self.output))
        else:
            check_ret("execute_async", acl.mdl.execute_async(self.model_id, self.input, self.output, stream))
            check_ret("synchronize", acl.rt.synchronize_stream(stream))
        results = []
        for i, (buffer, size) in enumerate(self.outputs):
            host, ret = acl.rt.malloc_host(size)
            check_ret("malloc_host", ret)
            check_ret("memcpy", acl.rt.memcpy(host, size, buffer, size, ACL_MEMCPY_DEVICE_TO_HOST))
            data = np.frombuffer(acl.util.ptr_to_bytes(host, size), dtype=np.float32)
            dims, ret = acl.mdl.get_cur_output_dims(self.desc, i)
            check_ret("get_cur_output_dims", ret)
            results.append(data.reshape(dims["dims"]))
            acl.rt.free_host(host)
        return results
    def __del__(self):
        for buffers, dataset in ((self.inputs, self.input), (self.outputs, self.output)):
            for i in range(acl.mdl.get_dataset_num_buffers(dataset)):
                acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, i))
            acl.mdl.destroy_dataset(dataset)
            for buffer, _ in buffers:
                acl.rt.free(buffer)
        acl.mdl.destroy_desc(self.desc)
        acl.mdl.unload(self.model_id)
'''

DVPP = '''
def align_up(value, step):
    return (value + step - 1) // step * step
class Dvpp:
    """JPEG decoding and scaling on the device, as samples wrap them."""
    def __init__(self, resource):
        self.stream = resource.stream
        self.channel = acl.media.dvpp_create_channel_desc()
        check_ret("create_channel", acl.media.dvpp_create_channel(self.channel))
        self.resize_config = acl.media.dvpp_create_resize_config()
    def picture(self, width, height, form, stride_w=16, stride_h=2):
        ws, hs = align_up(width * (3 if form == 12 else 1), stride_w), align_up(height, stride_h)
        size = ws * hs * 3 // 2 if form == 1 else ws * hs
        buffer, ret = acl.media.dvpp_malloc(size)
        check_ret("dvpp_malloc", ret)
        desc = acl.media.dvpp_create_pic_desc()
        for name, value in (
            ("data", buffer),
            ("size", size),
            ("format", form),
            ("width", width),
            ("height", height),
            ("width_stride", ws),
            ("height_stride", hs),
        ):
            check_ret(name, getattr(acl.media, "dvpp_set_pic_desc_" + name)(desc, value))
        return desc, buffer, size, ws, hs
    def jpegd(self, data):
        ptr = to_ptr(np.frombuffer(data, np.uint8))
        width, height, components, ret = acl.media.dvpp_jpeg_get_image_info(ptr, len(data))
        check_ret("get_image_info", ret)
        coded, ret = acl.media.dvpp_malloc(len(data))
        check_ret("dvpp_malloc", ret)
        check_ret("memcpy", acl.rt.memcpy(coded, len(data), ptr, len(data), ACL_MEMCPY_HOST_TO_DEVICE))
        picture = self.picture(width // 2 * 2, height // 2 * 2, 1, 128, 16)
        check_ret("jpegd", acl.media.dvpp_jpeg_decode_async(self.channel, coded, len(data), picture[0], self.stream))
        check_ret("sync", acl.rt.synchronize_stream(self.stream))
        acl.media.dvpp_free(coded)
        return picture
    def resize(self, picture, width, height):
        target = self.picture(width, height, 1)
        check_ret(
            "resize", acl.media.dvpp_vpc_resize_async(self.channel, picture[0], target[0], self.resize_config, self.stream)
        )
        check_ret("sync", acl.rt.synchronize_stream(self.stream))
        return target
    def letterbox(self, picture, width, height):
        """Scaled into the upper left corner of a black picture, the ratio kept; the scale."""
        w, h = (getattr(acl.media, "dvpp_get_pic_desc_" + n)(picture[0]) for n in ("width", "height"))
        scale = min(width / w, height / h)
        new_w, new_h = int(w * scale) // 16 * 16, int(h * scale) // 2 * 2
        target = self.picture(width, height, 1)
        check_ret("memset", acl.rt.memset(target[1], target[2], 0, target[2]))
        crop = acl.media.dvpp_create_roi_config(0, w - 1, 0, h - 1)
        paste = acl.media.dvpp_create_roi_config(0, new_w - 1, 0, new_h - 1)
        check_ret(
            "crop_and_paste",
            acl.media.dvpp_vpc_crop_and_paste_async(self.channel, picture[0], target[0], crop, paste, self.stream),
        )
        check_ret("sync", acl.rt.synchronize_stream(self.stream))
        for roi in (crop, paste):
            acl.media.dvpp_destroy_roi_config(roi)
        return target, (new_w / w, new_h / h)
    def rgb(self, picture):
        """The picture's colours on the host, h x w x 3."""
        w, h = (getattr(acl.media, "dvpp_get_pic_desc_" + n)(picture[0]) for n in ("width", "height"))
        desc, buffer, size, ws, hs = self.picture(w, h, 12)
        check_ret("convert_color", acl.media.dvpp_vpc_convert_color_async(self.channel, picture[0], desc, self.stream))
        check_ret("sync", acl.rt.synchronize_stream(self.stream))
        host, ret = acl.rt.malloc_host(size)
        check_ret("memcpy", acl.rt.memcpy(host, size, buffer, size, ACL_MEMCPY_DEVICE_TO_HOST))
        found = (
            acl.util.ptr_to_numpy(host, (size,), NPY_BYTE).view(np.uint8).reshape(hs, ws)[:h, : w * 3].reshape(h, w, 3).copy()
        )
        acl.rt.free_host(host)
        self.free((desc, buffer))
        return found
    def free(self, picture):
        acl.media.dvpp_free(picture[1])
        acl.media.dvpp_destroy_pic_desc(picture[0])
    def __del__(self):
        acl.media.dvpp_destroy_resize_config(self.resize_config)
        acl.media.dvpp_destroy_channel(self.channel)
        acl.media.dvpp_destroy_channel_desc(self.channel)
'''


def ran(start: Run, program: str, *words: str, lite: str = LITE, **env: str) -> list[str]:
    """What a program prints after the helper classes."""
    done = start(
        "python",
        "-W",
        "ignore",
        "-m",
        "npu",
        "script.py",
        *words,
        script=lite + dedent(program),
        env={"PYTHONWARNINGS": "ignore", **env},
    )
    assert done.code == 0, done.err
    assert "Exception ignored" not in done.err, done.err
    return done.out.splitlines()
