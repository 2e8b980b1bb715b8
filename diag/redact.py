"""Takes secrets and personal names out of a text before it leaves the machine."""

from __future__ import annotations

import re

SECRET_NAME = (
    r"[A-Za-z0-9_-]*(?:token|secret|passw(?:or)?d|passwd|api[_-]?key|access[_-]?key|credential|authorization)[A-Za-z0-9_-]*"
)
ASSIGNED = re.compile(rf"(?P<name>{SECRET_NAME})(?P<sign>[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s\"',;]+)", re.IGNORECASE)
IN_URL = re.compile(r"//[^/@\s:]+:[^/@\s]+@")
BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9+/=._-]{8,}")
GONE = "***"


def redacted(text: str, home: str = "", user: str = "", host: str = "") -> str:
    """The text without values of names that sound like secrets and passwords in addresses; home folder, user and host name
    are replaced where given (a user of one letter, root and the driver's own account stay)."""
    text = BEARER.sub(rf"\1 {GONE}", IN_URL.sub(f"//{GONE}@", text))  # before the names: "Authorization: Bearer x" has two words
    text = ASSIGNED.sub(lambda m: f"{m['name']}{m['sign']}{GONE}", text)
    if len(home) > 1 and home != "/root":
        text = text.replace(home, "/home/user")
    if len(host) > 2 and host not in ("localhost", "host"):
        text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", "host", text)
    if len(user) > 1 and user not in ("root", "nobody", "HwHiAiUser", "user"):
        text = re.sub(rf"(?<![\w.-]){re.escape(user)}(?![\w-])", "user", text)
    return text
