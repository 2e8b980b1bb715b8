"""Run the quickstart: convert the network twice, record main.py and fixed.py, and compare what was predicted with what came.

usage: python demo.py [--images N] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from network import fetch

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SHAPE = "--input_shape=x:1,3,48,192"
SWITCHES = {"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}


def call(*words: str | Path, **more: str) -> str:
    """Run an installed command; its output. A failure ends the demo with what it said."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env={**os.environ, **more}, check=False)
    if done.returncode != 0:
        raise SystemExit(f"demo: {' '.join(map(str, words))} failed ({done.returncode})\n{done.stdout}{done.stderr}")
    return done.stdout


def convert(network: Path, out: Path, name: str, *more: str) -> Path:
    """An .om of the network, kept when it is newer than the network and our packages."""
    model = out / f"{name}.om"
    call(BIN / "atc", f"--model={network}", "--framework=5", f"--output={out / name}", "--soc_version=Ascend910B3", SHAPE,
         "--precision_mode=must_keep_origin_dtype", *more, ASCEND_WORK_PATH=str(out))
    return model


def record(script: str, model: Path, images: int, out: Path) -> tuple[Path, dict[str, object], str]:
    """Record one script under the model clock; its PROF folder, its analysis, what it printed."""
    before = set(out.glob("PROF_*"))
    said = call(BIN / "msprof", "run", "--clock", "model", "--output", out, "--no-summary", HERE / script, model, str(images),
                out / f"{script}.npy")
    prof = max(set(out.glob("PROF_*")) - before)
    return prof, json.loads(call(BIN / "msprof", "analyze", prof, "--json")), said.strip()


def reference(network: Path, images: int) -> np.ndarray:
    """What onnxruntime says to the same images, float32 [images, 2]."""
    import onnxruntime
    from lines import draw

    session = onnxruntime.InferenceSession(str(network))
    return np.concatenate([session.run(None, {"x": draw(n)[None]})[0] for n in range(images)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=32)
    parser.add_argument("--out", type=Path, default=Path("demo-out"))
    args = parser.parse_args()
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    network = fetch()
    (out / "fusion_off.json").write_text(json.dumps(SWITCHES))
    print(f"network   {network} (text direction classifier, {args.images} line images)")
    plain = convert(network, out, "unfused", f"--fusion_switch_file={out / 'fusion_off.json'}")
    fused = convert(network, out, "fused")
    print(f"converted {plain} and {fused} with {BIN / 'atc'}")

    wanted = reference(network, args.images)
    runs = {}
    for script, model in (("main.py", plain), ("fixed.py", fused)):
        prof, found, said = record(script, model, args.images, out)
        exact = np.allclose(np.load(out / f"{script}.npy"), wanted, rtol=1e-3, atol=1e-6)
        runs[script] = (prof, found)
        length = found["window"]["length_us"] / 1000
        print(f"\n{script}: {length:.2f} ms, {length / args.images * 1000:.0f} us an image; {said}; "
              f"{'outputs equal' if exact else 'OUTPUTS DIFFER FROM'} onnxruntime's")
        for finding in (f for f in found["findings"] if not f["cause"]):
            site = f"  {Path(finding['sites'][0]).name}" if finding["sites"] else ""
            gain = f"{finding['gain']['us'] / 1000:.2f} ms" if finding["gain"] else "-"
            print(f"  {gain:>9}  {finding['title']}{site}")
        if not found["findings"]:
            print("  no findings")
        if not exact:
            raise SystemExit("demo: the simulated device computed something else than onnxruntime")

    before, after = (runs[s][1]["window"]["length_us"] for s in ("main.py", "fixed.py"))
    predicted = runs["main.py"][1]["joint"]["us"]
    print(f"\npredicted gain {predicted / 1000:.2f} ms ({predicted / before:.0%}), measured {(before - after) / 1000:.2f} ms "
          f"({(before - after) / before:.0%}), {before / after:.2f}x as fast")
    page = out / "timeline.html"
    call(BIN / "msprof", "timeline", runs["main.py"][0], "-o", page, "--force")
    print(f"\nlook at it   {page}\nprofile      {runs['main.py'][0]}\nnext         {BIN / 'msprof'} analyze {runs['main.py'][0]}")


if __name__ == "__main__":
    main()
