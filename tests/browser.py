"""A page in headless Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

# A frame that sends "narrow" becomes half as wide.
FRAMES = """<!doctype html><body><script>
addEventListener("message", (e) => {
  if (e.data === "narrow") {
    const all = [...document.querySelectorAll("iframe")];
    const frame = all.find((f) => f.contentWindow === e.source);
    frame.style.width = frame.offsetWidth / 2 + "px";
    return;
  }
  const told = document.createElement("pre");
  told.textContent = "TOLD" + e.data + "DLOT";
  document.body.append(told);
});
</script>
<iframe src="page.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="page.html" style="width:390px;height:800px;border:0"></iframe>
"""


def browse(page: Path, tmp_path: Path) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and the errors on the console."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        if os.environ.get("CI"):
            pytest.fail("the tests need Chromium, which is not installed")
        pytest.skip("Chromium is not installed")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr",
            # Without the second one there is no frame, and no ResizeObserver, after the first.
            "--virtual-time-budget=20000", "--run-all-compositor-stages-before-draw",
            "--window-size=1800,1400", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def on_laptop_and_phone(text: str, probe: str, tmp_path: Path) -> list[dict[str, Any]]:
    """What `probe`, a script at the end of the page, tells its parent in frames of both widths.

    The page must leave no error on the console.
    """
    (tmp_path / "page.html").write_text(text.replace("</body>", probe + "</body>"))
    (tmp_path / "frames.html").write_text(FRAMES)
    dom, errors = browse(tmp_path / "frames.html", tmp_path)
    assert not errors, errors
    told = re.findall(r"<pre>TOLD(.*?)DLOT</pre>", dom)
    unescaped = [t.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&") for t in told]
    return [json.loads(t) for t in unescaped]
