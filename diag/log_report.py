"""Reading logs to a verdict: `read([path])` gives the cause, what followed from it, the codes decoded, and what to do.

Bounded memory: of each kind of hit per process at most KEPT lines are held, lines from a place that logs without end are
counted and no longer looked at.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from diag import log_files
from diag.codes_in_text import Code
from diag.log_cause import TOGETHER, Moment, choose, event_of, group_of, kind_of
from diag.log_rules import GENERIC, RETURNED, Hit, hits
from diag.plog import MOST_PLACES, SAME_PLACE, Counted, Line, parsed, parsed_lines

KEPT = 32  # lines held per cause, sureness and process
NO_DIGITS = str.maketrans("", "", "0123456789abcdefx")
WAITED = ("hccl_connect_timeout", "hccl_notify_timeout", "task_wait_timeout")
DIFFERS = ("hccl_ranks_disagree",)

_VERSION = re.compile(r"versionInfo is \[(?P<version>[^\]]+)\]")
_LIMIT = re.compile(r"(?P<name>HCCL_\w+_TIMEOUT) set .*?\[(?P<seconds>\d+)\]")
_RANKS = re.compile(r"ranks?\[(?P<ranks>\d+)\], rank\[(?P<rank>\d+)\]")
_OWN_RANK = re.compile(r"rankId\[(?P<rank>\d+)")
_RETURNED_BY = re.compile(r"\b(?P<call>acl[a-zA-Z]+?)(?:Impl)?(?:\([^)]*\))?[:, ].{0,160}?(?:failed|runtime result|ret)\b")


@dataclass(frozen=True, slots=True)
class Finding:
    """The hits of one cause: lines in their order (at most KEPT), how many there were, the facts they tell, their ranks."""

    cause: str
    lines: tuple[Line, ...]
    count: int
    facts: Mapping[str, str]
    codes: tuple[Code, ...]
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A code that occurs, where first, and which call handed it to the program ("" where the log does not say)."""

    code: Code
    line: Line
    returned_by: str = ""


@dataclass(slots=True)
class LogReport:
    """What the logs say. cause is None when nothing is wrong; consequences by time; notes are lines that are no fault."""

    source: str
    cause: Finding | None = None
    consequences: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    codes: list[Seen] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    files: int = 0
    counted: Counted = field(default_factory=Counted)
    missing: list[tuple[str, str]] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)  # rank -> how many lines waited for it
    differing: dict[int, int] = field(default_factory=dict)  # rank -> how many lines say that it calls something else
    silent: list[int] = field(default_factory=list)  # ranks of the job that wrote no error


@dataclass(slots=True)
class _Collected:
    hits: list[Hit] = field(default_factory=list)
    kept: Counter[tuple[str, int, object]] = field(default_factory=Counter)
    places: Counter[tuple[object, ...]] = field(default_factory=Counter)
    first_times: dict[str, int] = field(default_factory=dict)
    rank_of: dict[int, int] = field(default_factory=dict)
    device_of: dict[int, int] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)
    facts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def read(paths: list[Path]) -> LogReport:
    """The verdict over all files below the paths. Missing paths raise OSError; unreadable files stand in `missing`."""
    found = log_files.find(paths)
    report = LogReport(" ".join(str(p) for p in paths), missing=list(found.unread))
    collected = _Collected()
    for file in found.files:
        counted = Counted()
        try:
            if log_files.is_binary(file):
                report.missing.append((file.shown, "binary data, no log"))
                continue
            for line in parsed(file, counted):
                _take(collected, line)
        except (OSError, EOFError) as error:
            report.missing.append((file.shown, getattr(error, "strerror", None) or str(error) or type(error).__name__))
        report.files += counted.lines > 0 or not any(shown == file.shown for shown, _ in report.missing)
        report.counted.lines += counted.lines
        report.counted.errors += counted.errors
        report.counted.warnings += counted.warnings
        if file.pid is not None:
            collected.facts["pid"].add(str(file.pid))
    _judge(report, collected)
    return report


def read_text(text: str, name: str = "text") -> LogReport:
    """The verdict over a text at hand, such as a pasted message."""
    report, collected = LogReport(name, files=1), _Collected()
    file = log_files.LogFile(Path(name), name)
    for line in parsed_lines(file, text.encode("utf-8", "replace").splitlines(), report.counted):
        _take(collected, line)
    _judge(report, collected)
    return report


def _take(collected: _Collected, line: Line) -> None:
    if line.time is not None:
        collected.first_times.setdefault(line.file, line.time)
    if line.pid is not None:
        if line.rank is not None:
            collected.rank_of.setdefault(line.pid, line.rank)
        if line.device is not None:
            collected.device_of.setdefault(line.pid, line.device)
    _note_facts(collected, line)
    place = (line.file, line.worker, line.where, line.part, line.text[:48].translate(NO_DIGITS))
    if len(collected.places) < MOST_PLACES or place in collected.places:
        collected.places[place] += 1
        if collected.places[place] > SAME_PLACE:
            return
    for hit in hits(line):
        if line.pid is not None and hit.facts.get("own_rank", "").isdigit():
            collected.rank_of.setdefault(line.pid, int(hit.facts["own_rank"]))
        key = _key(hit)
        collected.kept[key] += 1
        if collected.kept[key] <= KEPT:
            collected.hits.append(hit)


def _key(hit: Hit) -> tuple[str, int, object]:
    return hit.cause, hit.sure, hit.line.pid if hit.line.pid is not None else hit.line.file


def _note_facts(collected: _Collected, line: Line) -> None:
    if "versionInfo" in line.text and (match := _VERSION.search(line.text)):
        collected.facts["runtime_package"].add(match["version"])
    if "_TIMEOUT" in line.text and (match := _LIMIT.search(line.text)):
        collected.facts[match["name"]].add(f"{match['seconds']} s")
    if "], rank[" in line.text and (match := _RANKS.search(line.text)) and line.pid is not None:
        collected.rank_of[line.pid] = int(match["rank"])
        collected.sizes.add(int(match["ranks"]))
    if "rankId[" in line.text and (match := _OWN_RANK.search(line.text)) and line.pid is not None:
        collected.rank_of.setdefault(line.pid, int(match["rank"]))


def _judge(report: LogReport, collected: _Collected) -> None:
    found = _own_codes_settled(collected.hits)
    when = Moment(collected.first_times)
    report.facts = {name: ", ".join(sorted(values)) for name, values in collected.facts.items()}
    report.notes = [_finding(same, collected) for same in _by_cause(h for h in found if kind_of(h) == "harmless")]
    cause = choose(found, collected.first_times)
    if cause is None:
        return
    event = event_of(cause, found, collected.first_times)
    report.cause = _with_device(_finding(event, collected, cause.cause), event[0], found, when)
    inside = {id(h) for h in event}
    rest = sorted((h for h in found if kind_of(h) != "harmless" and id(h) not in inside), key=when)
    report.consequences = [_finding(same, collected, name) for name, same in _named(rest, cause, event).items()]
    report.codes = _codes(sorted(found, key=when))
    _waiting(report, collected)


def _with_device(finding: Finding, cause: Hit, found: list[Hit], when: Moment) -> Finding:
    """The device a neighbouring line of the same process names, where the cause's own lines do not."""
    if "device_id" in finding.facts:
        return finding
    near = (h for h in found if h.line.pid == cause.line.pid and abs(when.of(h) - when.of(cause)) <= TOGETHER)
    device = next((h.facts["device_id"] for h in near if "device_id" in h.facts), "")
    return replace(finding, facts={**finding.facts, "device_id": device}) if device else finding


def _own_codes_settled(found: list[Hit]) -> list[Hit]:
    """The simulated stack says which situation a code stands for: a line with that number alone then only follows."""
    own = {c.code for h in found if "situation" in h.facts for c in h.codes}
    return [replace(h, cause="follows") if h.sure == RETURNED and h.facts.get("acl_code") in own else h for h in found]


def _by_cause(found: Iterable[Hit]) -> list[list[Hit]]:
    groups: dict[str, list[Hit]] = {}
    for hit in found:
        groups.setdefault(hit.cause, []).append(hit)
    return list(groups.values())


def _named(rest: list[Hit], cause: Hit, event: list[Hit]) -> dict[str, list[Hit]]:
    """Later hits by cause. What nobody knows better is a mere consequence once the cause is known; and a line is shown once."""
    groups: dict[str, list[Hit]] = {}
    shown = {(h.line.file, h.line.number) for h in event}
    for hit in sorted(rest, key=lambda h: h.cause == "follows" or h.cause in GENERIC):
        place = (hit.line.file, hit.line.number)
        if place in shown:
            continue
        shown.add(place)
        merely = hit.cause in GENERIC or (hit.sure == RETURNED and group_of(hit) == group_of(cause))
        groups.setdefault("follows" if merely else hit.cause, []).append(hit)
    return groups


def _finding(same: list[Hit], collected: _Collected, cause: str | None = None) -> Finding:
    """Facts of the first line that tells each count; lines know rank and device of their process."""
    facts: dict[str, str] = {}
    for hit in same:
        for name, value in hit.facts.items():
            facts.setdefault(name, value)
    lines: dict[tuple[str, int], Line] = {}
    for hit in same:
        lines.setdefault((hit.line.file, hit.line.number), _placed(hit.line, collected))
    count = sum(
        collected.kept[k] for k in {(h.cause, h.sure, h.line.pid if h.line.pid is not None else h.line.file) for h in same}
    )
    codes = {(c.form, c.code): c for h in same for c in h.codes}
    ranks = sorted({line.rank for line in lines.values() if line.rank is not None})
    return Finding(
        cause or same[0].cause, tuple(lines.values())[:KEPT], max(count, len(lines)), facts, tuple(codes.values()), tuple(ranks)
    )


def _placed(line: Line, collected: _Collected) -> Line:
    if line.pid is None:
        return line
    rank = line.rank if line.rank is not None else collected.rank_of.get(line.pid)
    device = line.device if line.device is not None else collected.device_of.get(line.pid)
    return line if (rank, device) == (line.rank, line.device) else replace(line, rank=rank, device=device)


def _codes(found: list[Hit]) -> list[Seen]:
    """Each code once, at its first place. A code the simulated stack chose for a situation keeps that meaning everywhere."""
    own = {c.code: c for h in found for c in h.codes if "situation" in h.facts and c.form == "acl"}
    seen: dict[tuple[str, str], Seen] = {}
    for hit in found:
        by = _RETURNED_BY.search(hit.line.text)
        for code in hit.codes:
            key = (code.form, code.code)
            call = by["call"] if by is not None and code.form == "acl" else ""
            if key not in seen:
                seen[key] = Seen(own.get(code.code, code) if code.form == "acl" else code, hit.line, call)
            elif call and not seen[key].returned_by:
                seen[key] = Seen(seen[key].code, seen[key].line, call)
    return list(seen.values())


def _waiting(report: LogReport, collected: _Collected) -> None:
    """Who was waited for, who differs, and which ranks of the job say nothing at all."""
    waited, differing = Counter[int](), Counter[int]()
    for hit in collected.hits:
        peers = [int(number) for number in re.findall(r"\d+", hit.facts.get("peer", ""))]
        if hit.cause in WAITED:
            waited.update(peers)
        elif hit.cause in DIFFERS:
            differing.update(peers)
    report.waiting, report.differing = dict(waited.most_common()), dict(differing.most_common())
    speaking = {r for h in collected.hits if (r := _placed(h.line, collected).rank) is not None and kind_of(h) != "harmless"}
    sizes = collected.sizes | {int(h.facts["rank_size"]) for h in collected.hits if "rank_size" in h.facts}
    if sizes and speaking:
        report.silent = sorted(set(range(max(sizes))) - speaking)
