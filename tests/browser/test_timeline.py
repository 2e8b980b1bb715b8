"""The timeline in a real browser: it opens silently, and findings, mouse, keys and search do what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from profiler.findings import Breakdown, Checked, Evidence, Finding, Gain, Report
from profiler.report.timeline import write_report, write_timeline
from profiler.trace import Trace
from tests.made import Made, ns

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
STEPS = 20
HOSTILE = "</script><img src=x onerror=document.title='broken'>\u202e\x07"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="/usr/bin/chromium is not installed"),
]


def trace() -> Trace:
    """Twenty steps of 1 ms: copy in 0..100 us, a launch, four kernels of 150 us, a wait until 800 us."""
    made = Made()
    for step in range(STEPS):
        at, first = step * 1000, step * 4
        made.marker("step", f"step {step}", at, at + 990)
        made.api("aclrtMemcpy", at, at + 100, bytes=1 << 20, direction="h2d", correlation=1000 + step)
        made.task("copy", at + 10, at + 90, bytes=1 << 20, direction="h2d", stream=3, name="MEMCPY", correlation=1000 + step)
        made.api("aclmdlExecuteAsync", at + 110, at + 150, correlation=step)
        made.api("aclrtSynchronizeStream", at + 160, at + 800)
        for n in range(4):
            begin = at + 180 + 155 * n
            made.task("kernel", begin, begin + 150, name=f"MatMul_{first + n}", op_type="MatMulV2", correlation=step)
        made.memory("alloc", at, 1 << 20, allocated=(step + 1) << 20, reserved=64 << 20)
        made.counter("power W", at, 90.0 + step)
    made.task("kernel", 19_960, 19_990, name=HOSTILE, op_type=HOSTILE)
    return made.trace()


def report() -> Report:
    waits = tuple(
        Evidence(f"wait {n}", ns(n * 1000 + 160), ns(n * 1000 + 800), "api", (3 * n + 2,), "infer.py:7") for n in range(STEPS)
    )
    finding = Finding("sync-every-submit", 20, "host", "critical", {}, Gain(ns(3000), "replay", "high"), waits, ("infer.py:7",))
    steps = tuple(Breakdown(0, 0, n, 790_000, 600_000, 0, 0, 0, 190_000, 80_000, 0, 110_000, 0) for n in range(STEPS))
    checklist = (Checked("graph", "fine"), Checked("host", "findings", 1, ns(3000)))
    return Report("made", (0, ns(20_000)), STEPS, [finding], checklist, steps)


def texts(finding: Finding) -> tuple[str, str]:
    return "20 waits in 20 steps", "Wait once. <b>Plain</b>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install npuscope[test])")
    with playwright.sync_playwright() as play:
        started = play.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        "timeline": write_timeline(trace(), report(), folder / "timeline.html", texts, "made", path=[("api", 1), ("task", 1)]),
        "report": write_report(trace(), report(), folder / "report.html", texts, "made"),
        "chinese": write_report(trace(), report(), folder / "chinese.html", texts, "made", lang="zh"),
        "empty": write_timeline(Trace(Path("nothing")), None, folder / "empty.html", texts),
    }


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails the test when anything was written to its console or asked of the network."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", color_scheme="light")
    opened = context.new_page()
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    yield opened
    context.close()
    assert said == []


def show(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready")


def window(page: Any) -> tuple[float, float]:
    return tuple(page.evaluate("[npuscope.view.from, npuscope.view.to]"))


def place(page: Any, name: str, number: int = 0) -> tuple[float, float]:
    """Where on the screen the n-th bar of that name is."""
    return tuple(page.evaluate("""([name, number]) => {
      const { data, placeOf } = npuscope, box = document.getElementById("plane").getBoundingClientRect();
      const bars = Array.from(data.name.keys()).filter((i) => data.names[data.name[i]] === name);
      const at = placeOf(bars[number]);
      return [box.left + (at.x0 + at.x1) / 2, box.top + at.y + at.height / 2];
    }""", [name, number]))


def test_it_opens_on_the_measured_window(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    begin, end = window(page)
    assert -0.05 * ns(20_000) < begin < 0 and ns(20_000) < end < 1.05 * ns(20_000)
    labels = page.locator("#labels button").all_inner_texts()
    assert [t.split("\n")[0] for t in labels] == [
        "Host", "Steps", "Thread 0", "Device 0", "Stream 1", "Stream 3", "Copies H2D", "Memory", "power W"]


def test_the_overview_is_not_taken_up_by_a_long_start(page: Any, tmp_path: Path) -> None:
    """10 ms of work behind 700 ms of start-up: a click in the middle of the strip shows the middle of the work, a quarter of the
    strip to its right, which is a tenth of the trace without corners, a place in the work too."""
    made = Made()
    made.api("aclInit", 0, 700_000)
    for n in range(10):
        made.task("kernel", 700_000 + 1000 * n, 700_900 + 1000 * n, op_type="MatMulV2")
    made.api("aclFinalize", 711_000, 800_000)
    told = Report("made", (ns(700_000), ns(710_000)), 1, [], (), ())
    show(page, write_timeline(made.trace(), told, tmp_path / "page.html", texts, "made"))
    page.evaluate("npuscope.show(702e6, 704e6)")
    strip = page.locator("#overview").bounding_box()
    width = page.evaluate("npuscope.view.width")
    for share, middle in ((0.5, 705_000), (0.75, 707_976), (0.04, 350_000)):
        page.mouse.move(strip["x"] + share * width, strip["y"] + 10)
        page.mouse.down()
        page.mouse.up()
        begin, end = window(page)
        assert abs((begin + end) / 2 - ns(middle)) < (ns(30) if share > 0.1 else ns(2_000))


def test_a_finding_moves_the_view_and_marks_its_evidence(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.click("[data-finding='sync-every-submit'] .card-head")
    assert page.evaluate("npuscope.state.bands.length") == STEPS
    page.locator(".row-link", has_text="wait 7").click()
    begin, end = window(page)
    assert ns(6_900) < begin < ns(7_160) and ns(7_800) < end < ns(8_100)
    marked = page.evaluate("""() => {
      const { data, state } = npuscope;
      return state.outlined.map((bar) => [data.names[data.name[bar]], data.start[bar]]);
    }""")
    assert marked == [["aclrtSynchronizeStream", ns(7_160)]]
    assert page.inner_text(".advice") == "Wait once. <b>Plain</b>"


def test_wheel_zooms_at_the_pointer_and_drag_moves(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    box = page.locator("#plane").bounding_box()
    begin, end = window(page)
    at = begin + (end - begin) * 0.25
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 300)
    page.mouse.wheel(0, -100)
    page.wait_for_function("span => npuscope.view.to - npuscope.view.from < span", arg=0.9 * (end - begin))
    begin, end = window(page)
    assert begin + (end - begin) * 0.25 == pytest.approx(at, abs=(end - begin) / 300)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.25 - 50, box["y"] + 300, steps=3)
    page.mouse.up()
    assert window(page)[0] - begin == pytest.approx(50 * (end - begin) / box["width"], rel=0.02)
    page.keyboard.press("0")
    assert window(page)[0] < 0


@pytest.mark.parametrize(("key", "moves"), [("a", -1), ("ArrowRight", 1), ("d", 1)])
def test_keys_move_the_view(page: Any, files: dict[str, Path], key: str, moves: int) -> None:
    show(page, files["timeline"])
    page.evaluate("npuscope.show(5e6, 6e6)")
    page.keyboard.press(key)
    assert window(page)[0] == pytest.approx(5e6 + moves * 0.15e6, abs=2e3)


def test_hover_names_an_event_and_click_shows_it(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.evaluate("npuscope.show(3e6, 4e6)")
    page.evaluate("npuscope.drawNow()")
    x, y = place(page, "MatMul_13")
    page.mouse.move(x, y)
    assert page.locator("#tip strong").inner_text() == "MatMul_13"
    page.mouse.click(x, y)
    details = page.inner_text("#details")
    assert "MatMul_13" in details and "150 us (150,000 ns)" in details and "MatMulV2" in details
    page.locator("#details .row-link", has_text="aclmdlExecuteAsync").click()
    assert "Thread 0" in page.inner_text("#details") and "What it launched" in page.inner_text("#details")


def test_search_finds_counts_and_steps(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.keyboard.press("/")
    page.keyboard.type("matmul_13")
    page.wait_for_function("document.getElementById('hits').textContent === '1 match'")
    page.keyboard.press("Enter")
    assert page.inner_text("#hits") == "1 of 1"
    assert page.inner_text("#details h2") == "MatMul_13"
    begin, end = window(page)
    assert begin <= ns(3_335) and end >= ns(3_485)


def test_a_selected_time_is_summed_up(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.evaluate("npuscope.show(1e6, 3e6)")
    sums = page.evaluate("""() => {
      const { operator, call, copy } = npuscope.statistics(1e6, 3e6), names = npuscope.data.names;
      const list = (m) => Array.from(m.values(), (s) => [names[s.category], s.time, s.count, s.bytes]);
      return { operator: list(operator), copy: list(copy), calls: list(call).length };
    }""")
    assert sums["operator"] == [["MatMulV2", ns(1200), 8, 0]]
    assert sums["copy"] == [["copy host to device", ns(160), 2, 2 << 20]]
    assert sums["calls"] == 3
    box = page.locator("#plane").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 100, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 300, steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert "Operators" in page.inner_text("#selection") and "MatMulV2" in page.inner_text("#selection")


def test_hostile_names_are_shown_as_text(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.evaluate("npuscope.show(19.9e6, 20e6)")
    page.evaluate("npuscope.drawNow()")
    page.mouse.click(*place(page, HOSTILE))
    assert page.inner_text("#details h2") == "</script><img src=x onerror=document.title='broken'>\ufffd\u2407"
    assert page.title() == "made" and page.locator("img").count() == 0
    page.click("[data-tab='charts']")
    page.wait_for_selector("#charts g.ytick text")
    assert any(t.startswith("</script><img") for t in page.locator("#charts g.ytick text").all_text_contents())


def test_lanes_fold(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    page.locator("#labels button.group", has_text="Device 0").click()
    assert page.locator("#labels button").count() == 4
    page.locator("#labels button.group", has_text="Device 0").click()
    page.evaluate("npuscope.show(0.905e6, 0.98e6)")  # nothing but the step runs at the end of a step
    page.keyboard.press("e")
    shown = [t.split("\n")[0] for t in page.locator("#labels button").all_inner_texts()]
    assert "Steps" in shown and not {"Thread 0", "Stream 1", "Stream 3"} & set(shown)


def test_light_and_dark(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.emulate_media(color_scheme="light")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_system_theme_is_followed(page: Any, files: dict[str, Path]) -> None:
    page.emulate_media(color_scheme="dark")
    show(page, files["timeline"])
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_critical_path_can_be_switched(page: Any, files: dict[str, Path]) -> None:
    show(page, files["timeline"])
    assert page.get_attribute("#path", "aria-pressed") == "true"
    page.keyboard.press("c")
    assert page.get_attribute("#path", "aria-pressed") == "false"


def test_the_report_page_holds_everything(page: Any, files: dict[str, Path]) -> None:
    show(page, files["report"])
    text = page.inner_text("#verdict")
    assert "20 steps" in text and "Framework and graph" in text and "20 waits in 20 steps" in text and "600 us" in text
    page.wait_for_selector("#charts g.ytick text")
    page.click("[data-finding='sync-every-submit'] .card-head")
    assert page.evaluate("npuscope.state.bands.length") == STEPS
    assert page.locator("#plane").is_visible()


def test_the_page_speaks_chinese(page: Any, files: dict[str, Path]) -> None:
    show(page, files["chinese"])
    text = page.inner_text("body")
    assert "20 个 step" in text and "框架与图" in text and "关键路径" not in text  # no path was given, so no button for it
    assert page.evaluate("document.documentElement.lang") == "zh"
    assert page.inner_text("#fit") == "适应窗口" and page.get_attribute("#query", "placeholder") == "搜索名称（/）"
    labels = [t.split("\n")[0] for t in page.locator("#labels button").all_inner_texts()]
    assert labels == ["主机", "Step", "线程 0", "设备 0", "Stream 1", "Stream 3", "H2D 拷贝", "内存", "power W"]
    colour = page.evaluate("""() => {
      const { data } = npuscope;
      return data.names.includes("主机到设备拷贝") && !data.names.includes("copy host to device");
    }""")
    assert colour


def test_an_empty_trace_says_so(page: Any, files: dict[str, Path]) -> None:
    show(page, files["empty"])
    assert "holds no events" in page.inner_text("#nothing")
