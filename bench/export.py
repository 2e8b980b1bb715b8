"""How long an export takes: `python bench/export.py [tasks] [--db] [--json]` (default 1,000,000 tasks, all text files).

One capture as the recorder leaves it, with a launch for each task, is read and exported in a process of its own: process time of
each format (best of three) and of the whole.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

EXPORT = """
import json, sys, tempfile, time
from pathlib import Path
from profiler.export.msprof import FORMATS
from profiler.read.own import read
wanted = sys.argv[2:]
begun = time.process_time()
trace = read(Path(sys.argv[1]))
took = {"read": time.process_time() - begun}
for form in FORMATS:
    if form.name in wanted:
        best = 1e9
        for _ in range(3):
            with tempfile.TemporaryDirectory(dir=Path(sys.argv[1])) as folder:
                begun = time.process_time()
                form.write(trace, Path(folder) / "", "20250101000000")
                best = min(best, time.process_time() - begun)
        took[form.name] = best
print(json.dumps(took))
"""
DATABASE = "msprof_db"


def main() -> None:
    """Print seconds by format and in all."""
    root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root))
    from analysis import write

    from profiler.export.msprof import FORMATS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="?", default="1,000,000")
    parser.add_argument("--db", action="store_true", help="the database too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = [f.name for f in FORMATS if options.db or f.name != DATABASE]
    with tempfile.TemporaryDirectory() as folder:
        prof = write(Path(folder), "eager", int(options.tasks.replace(",", "")))
        words = [sys.executable, "-c", EXPORT, str(prof), *names]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    took = json.loads(done.stdout)
    took["all"] = sum(took.values())
    if options.json:
        print(json.dumps({name: round(seconds, 3) for name, seconds in took.items()}, indent=1))
        return
    for name, seconds in took.items():
        if seconds >= 0.01:
            print(f"{name:24} {seconds:6.2f} s")


if __name__ == "__main__":
    main()
