"""A page in headless Chromium."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

FRAMES = """<!doctype html><body><script>
addEventListener("message", (e) => {
  const told = document.createElement("pre");
  told.textContent = "TOLD" + e.data + "DLOT";
  document.body.append(told);
});
</script>
<iframe src="page.html" style="width:1280px;height:900px;border:0"></iframe>
<iframe src="page.html" style="width:390px;height:800px;border:0"></iframe>
"""


def _command(tmp_path: Path, *options: str) -> list[str]:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        if os.environ.get("CI"):
            pytest.fail("the tests need Chromium, which is not installed")
        pytest.skip("Chromium is not installed")
    return [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", *options,
    ]  # fmt: skip


def browse(page: Path, tmp_path: Path) -> tuple[str, list[str]]:
    """The page's DOM after its scripts ran, and the errors on the console."""
    command = _command(
        tmp_path, "--enable-logging=stderr", "--virtual-time-budget=20000",
        "--window-size=1800,1400", "--dump-dom", page.as_uri(),
    )  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


class Window:
    """A browser's window whose width can be changed, by Chromium's DevTools protocol.

    With virtual time, as in `browse`, there is no second frame that a page could react to.
    """

    def __init__(self, tmp_path: Path) -> None:
        (theirs_in, self._out), (self._in, theirs_out) = os.pipe(), os.pipe()
        command = _command(tmp_path, "--remote-debugging-pipe", "about:blank")
        # Chromium reads from 3 and writes to 4.
        line = f"exec {shlex.join(command)} 3<&{theirs_in} 4>&{theirs_out} 2>/dev/null"
        self._process = subprocess.Popen(["bash", "-c", line], pass_fds=(theirs_in, theirs_out))
        os.close(theirs_in)
        os.close(theirs_out)
        self._answers = os.fdopen(self._in, "rb")
        self._number, self._session = 0, ""
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        self._answers.close()

    def open(self, page: Path, width: int) -> None:
        self.resize(width)
        self._ask("Page.navigate", url=page.as_uri())

    def resize(self, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **size)

    def wait_for(self, condition: str, seconds: float = 30.0) -> None:
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.value(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    def _ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self) -> bytes:
        found = bytearray()
        while (one := self._answers.read(1)) != b"\0":
            assert one, "the browser is gone"
            found += one
        return bytes(found)


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
