"""Whole programs in the style of public samples that run models: pictures through the media engine, feeds in threads, a process for
each device, callbacks, sessions. Each checks its own results and ends with nothing held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import made_onnx
from tests.scripts.lite import DVPP, LITE, ran

pytestmark = pytest.mark.slow  # many starts of programs


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """Which of red, green and blue is strongest in a 64 x 64 picture: mean over each colour plane, softmax."""
    nodes = [made_onnx.node("GlobalAveragePool", "x", "mean"), made_onnx.node("Flatten", "mean", "flat"),
             made_onnx.node("Gemm", "flat w b", "score"),
             made_onnx.node("Softmax", "score", "y", axis=1)]  # fmt: skip
    weights = {"w": np.eye(3, dtype=np.float32) * 10, "b": np.zeros(3, np.float32)}
    return made_onnx.convert(made_onnx.model(nodes, "y", weights, {"x": [1, 3, 64, 64]}), tmp_path, **made_onnx.ORIGIN).path


def test_classification_with_the_media_engine(start, classifier, tmp_path):
    """Files on disk, decoded, scaled and converted on the device, classified; objects are released in any order at the end."""
    from PIL import Image

    for name, colour in (("a_green", (30, 200, 40)), ("b_red", (220, 30, 30)), ("c_blue", (10, 60, 210))):
        Image.new("RGB", (300, 200), colour).save(tmp_path / f"{name}.jpg", quality=95)
    assert ran(
        start,
        """
        import glob
        resource = Resource()
        dvpp = Dvpp(resource)
        model = Model(sys.argv[1])
        for path in sorted(glob.glob("*.jpg")):
            with open(path, "rb") as file:
                picture = dvpp.jpegd(file.read())
            small = dvpp.resize(picture, 64, 64)
            rgb = dvpp.rgb(small)
            result = model.execute([np.ascontiguousarray(rgb.transpose(2, 0, 1)[None].astype(np.float32) / 255)])[0]
            print(path, ("red", "green", "blue")[result.reshape(-1).argmax()], result.sum().round(3))
            dvpp.free(small)
            dvpp.free(picture)
        del resource  # before the things that still hold device memory
    """,
        str(classifier),
        lite=LITE + DVPP,
    ) == ["a_green.jpg green 1.0", "b_red.jpg red 1.0", "c_blue.jpg blue 1.0"]


def test_detection_with_post_processing_on_the_host(start, tmp_path):
    """A picture with two bright squares: letterboxed, run through a model of bright cells, boxes suppressed and scaled back."""
    from PIL import Image

    picture = np.zeros((240, 320, 3), np.uint8)
    picture[32:96, 48:128] = 255
    picture[150:220, 200:290] = 255
    Image.fromarray(picture).save(tmp_path / "squares.jpg", quality=98)
    nodes = [
        made_onnx.node("AveragePool", "x", "cells", kernel_shape=[16, 16], strides=[16, 16]),
        made_onnx.node("ReduceMean", "cells", "y", axes=[1], keepdims=1),
    ]
    path = made_onnx.convert(made_onnx.model(nodes, "y", {}, {"x": [1, 3, 256, 256]}), tmp_path, **made_onnx.ORIGIN).path
    assert ran(
        start,
        """
        def iou(a, b):
            x, y = max(a[0], b[0]), max(a[1], b[1])
            u, v = min(a[2], b[2]), min(a[3], b[3])
            inter = max(0, u - x) * max(0, v - y)
            return inter / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter)
        def nms(boxes, scores, limit):
            order, kept = list(np.argsort(-scores, kind="stable")), []
            while order:
                best = order.pop(0)
                kept.append(best)
                order = [o for o in order if iou(boxes[best], boxes[o]) < limit]
            return kept
        resource = Resource()
        dvpp = Dvpp(resource)
        model = Model(sys.argv[1])
        picture = dvpp.jpegd(open("squares.jpg", "rb").read())
        boxed, (sx, sy) = dvpp.letterbox(picture, 256, 256)
        rgb = dvpp.rgb(boxed)
        cells = model.execute([np.ascontiguousarray(rgb.transpose(2, 0, 1)[None].astype(np.float32))], resource.stream)[0][0, 0]
        hits = [(x, y) for y, x in zip(*np.nonzero(cells > 200))]
        boxes = np.array([[x * 16 - 16, y * 16 - 16, x * 16 + 32, y * 16 + 32] for x, y in hits], float)
        scores = np.array([cells[y, x] for x, y in hits])
        found = [((boxes[k][0] + boxes[k][2]) / 2 / sx, (boxes[k][1] + boxes[k][3]) / 2 / sy) for k in nms(boxes, scores, 0.05)]
        inside = lambda p, a: a[0] <= p[0] <= a[2] and a[1] <= p[1] <= a[3]
        print(
            rgb.shape,
            any(inside(p, (48, 32, 128, 96)) for p in found),
            any(inside(p, (200, 150, 290, 220)) for p in found),
            all(inside(p, (40, 24, 136, 104)) or inside(p, (192, 142, 298, 228)) for p in found),
        )
        for p in (boxed, picture):
            dvpp.free(p)
    """,
        str(path),
        lite=LITE + DVPP,
    ) == ["(256, 256, 3) True True True"]


def test_feeds_in_threads_with_a_stream_each(start, classifier):
    """Four camera feeds share one context; each thread has its stream and data sets; all results are their own."""
    assert ran(
        start,
        """
        import queue, threading
        resource = Resource()
        results = queue.Queue()
        class Feed(threading.Thread):
            def __init__(self, number):
                super().__init__()
                self.number = number
            def run(self):
                check_ret("set_context", acl.rt.set_context(resource.context))
                stream, ret = acl.rt.create_stream()
                check_ret("create_stream", ret)
                model = Model(sys.argv[1])
                for frame in range(5):
                    picture = np.zeros((1, 3, 64, 64), np.float32)
                    picture[0, (self.number + frame) % 3] = 1
                    results.put((self.number, frame, int(model.execute([picture], stream)[0].argmax())))
                del model
                check_ret("destroy_stream", acl.rt.destroy_stream(stream))
        feeds = [Feed(n) for n in range(4)]
        for feed in feeds:
            feed.start()
        for feed in feeds:
            feed.join(60)
        found = sorted(results.get() for _ in range(20))
        print(all(c == (n + f) % 3 for n, f, c in found), len(found), results.empty())
    """,
        str(classifier),
    ) == ["True 20 True"]


def test_a_process_for_each_device(start, classifier):
    """Started before any call, with a queue for work and one for results."""
    assert ran(
        start,
        """
        import multiprocessing as mp
        def serve(device, work, out):
            resource = Resource(device)
            model = Model(sys.argv[1])
            for number in iter(work.get, None):
                picture = np.zeros((1, 3, 64, 64), np.float32)
                picture[0, number % 3] = 1
                out.put((number, device, int(model.execute([picture])[0].argmax())))
            del model
        if __name__ == "__main__":
            work, out = mp.Queue(), mp.Queue()
            children = [mp.Process(target=serve, args=(d, work, out)) for d in range(2)]
            for child in children:
                child.start()
            for number in range(9):
                work.put(number)
            for _ in children:
                work.put(None)
            found = sorted(out.get(timeout=60) for _ in range(9))
            for child in children:
                child.join(60)
            print(
                [c for _, _, c in found] == [n % 3 for n in range(9)],
                [c.exitcode for c in children],
                {d for _, d, _ in found} <= {0, 1},
            )
    """,
        str(classifier),
    ) == ["True [0, 0] True"]


def test_a_callback_pipeline_recycles_its_buffers(start, classifier):
    """Asynchronous runs; a callback in the report thread reads each result and hands the buffers back to the pool."""
    assert ran(
        start,
        """
        import queue, threading
        resource = Resource()
        models = queue.Queue()
        results, leave = [], threading.Event()
        for _ in range(3):
            models.put(Model(sys.argv[1]))
        def reports(args):
            context, timeout = args
            acl.rt.set_context(context)
            while not leave.is_set():
                acl.rt.process_report(timeout)
        tid, ret = acl.util.start_thread(reports, [resource.context, 100])
        check_ret("subscribe", acl.rt.subscribe_report(tid, resource.stream))
        def finished(data):
            number, model = data
            buffer, size = model.outputs[0]
            host, ret = acl.rt.malloc_host(size)
            acl.rt.memcpy(host, size, buffer, size, 2)
            results.append((number, int(np.frombuffer(acl.util.ptr_to_bytes(host, size), np.float32).argmax())))
            acl.rt.free_host(host)
            models.put(model)
        for number in range(12):
            model = models.get(timeout=30)
            picture = np.zeros((1, 3, 64, 64), np.float32)
            picture[0, number % 3] = 1
            buffer, size = model.inputs[0]
            check_ret("copy", acl.rt.memcpy_async(buffer, size, to_ptr(picture), size, 1, resource.stream))
            check_ret("execute", acl.mdl.execute_async(model.model_id, model.input, model.output, resource.stream))
            check_ret("callback", acl.rt.launch_callback(finished, [number, model], 1, resource.stream))
        check_ret("sync", acl.rt.synchronize_stream(resource.stream))
        print([r for _, r in results] == [n % 3 for n in range(12)], len(results))
        check_ret("unsubscribe", acl.rt.unsubscribe_report(tid, resource.stream))
        leave.set()
        print(acl.util.stop_thread(tid))
    """,
        str(classifier),
    ) == ["True 12", "0"]


def test_sessions_of_named_arrays(start, classifier):
    """aclruntime, and InferSession of ais_bench on top of it."""
    assert ran(
        start,
        """
        import aclruntime
        from ais_bench.infer.interface import InferSession
        options = aclruntime.session_options()
        options.loop = 2
        session = aclruntime.InferenceSession(sys.argv[1], 0, options)
        desc = session.get_inputs()[0]
        print(
            desc.name,
            desc.datatype == aclruntime.dtype.float32,
            desc.shape,
            desc.size,
            desc.realsize,
            [o.name for o in session.get_outputs()],
        )
        picture = np.zeros((1, 3, 64, 64), np.float32)
        picture[0, 1] = 1
        memory = aclruntime.MemorySummary()
        memory.reset()
        for feeds in (
            [aclruntime.Tensor(picture)],
            {"x": aclruntime.Tensor(picture)},
            [aclruntime.BaseTensor(picture.__array_interface__["data"][0], picture.nbytes)],
        ):
            outputs = session.run(["y"], feeds)
            outputs[0].to_host()
            print(np.array(outputs[0]).shape, np.array(outputs[0]).argmax(), end=" ")
        times = session.sumary().exec_time_list
        print(len(times), all(0 < t < 50 for t in times), len(memory.H2D_time_list), len(memory.D2H_time_list))
        try:
            session.run([], [aclruntime.Tensor(picture[:, :1])])
        except RuntimeError as error:
            print(error)
        picture.tofile("one.bin")
        print(
            session.create_tensor_from_fileslist(desc, ["one.bin"]).shape,
            np.array(aclruntime.batch([aclruntime.Tensor(picture)] * 2)).shape,
        )
        session.finalize()
        bench = InferSession(0, sys.argv[1])
        print(bench.infer([picture])[0].argmax(), len(bench.sumary().exec_time_list), bench.get_inputs()[0].shape)
        try:
            bench.infer([picture], mode="nonsense")
        except RuntimeError as error:
            print(error)
        bench.free_resource()
    """,
        str(classifier),
    ) == [
        "x True [1, 3, 64, 64] 12288 49152 ['y']",
        "(1, 3) 1 (1, 3) 1 (1, 3) 1 6 True 3 3",
        "input x takes 49152 bytes, not 16384",
        "[1, 3, 64, 64] (2, 3, 64, 64)",
        "1 1 [1, 3, 64, 64]",
        "mode 'nonsense': one of static, dymbatch, dymhw, dymdims, dymshape",
    ]
