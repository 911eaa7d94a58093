"""A page in headless Chromium."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

# Every chart that is not folded away has the width of its place, or scrolls in it.
DRAWN = """document.readyState === "complete" && charts.every(({ place, spec }) => {
  const width = place.querySelector("svg")?.clientWidth;
  const fits = spec.kind === "parallel" ? width > 0 : width === place.clientWidth;
  return fits || !place.checkVisibility();
})"""


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


class Window:
    """A browser's window whose width can be changed, by Chromium's DevTools protocol.

    `errors` has what its pages left on the console.
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
        self.errors: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._ask("Runtime.enable")
        self._ask("Log.enable")

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
        while not self._evaluate(condition)["result"].get("value"):
            assert time.monotonic() < end, f"never true: {condition}; errors: {self.errors}"
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        found = self._evaluate(expression)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _evaluate(self, expression: str) -> Any:
        return self._ask("Runtime.evaluate", expression=expression, returnByValue=True)

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
            if answer.get("method") in (
                "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded",
            ):  # fmt: skip
                self.errors.append(json.dumps(answer["params"]))

    def _read(self) -> bytes:
        found = bytearray()
        while (one := self._answers.read(1)) != b"\0":
            assert one, "the browser is gone"
            found += one
        return bytes(found)


def on_laptop_and_phone(text: str, probe: str, tmp_path: Path) -> list[Any]:
    """The value of `probe`, a JavaScript expression, on the page at both widths.

    Everything folded is open and every chart drawn. The page must leave no error on the console.
    """
    seen = []
    with Window(tmp_path) as window:
        for width in (1280, 390):
            page = tmp_path / f"wide{width}.html"
            page.write_text(text)
            window.open(page, width)
            window.wait_for(f"location.href.endsWith('{page.name}') && {DRAWN}")
            window.value("document.querySelectorAll('details').forEach((one) => one.open = true)")
            window.wait_for(f"innerWidth === {width} && {DRAWN}")
            seen.append(window.value(probe))
        assert not window.errors, window.errors
    return seen
