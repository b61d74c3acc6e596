"""A headless browser, driven by the DevTools protocol: open a page, ask it, look at it, click in it."""

from __future__ import annotations

import base64
import itertools
import json
import os
import re
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

BROWSER = Path(__file__).resolve().parents[2] / ".venv" / "browser"
"""Where `make browser` puts the Chromium of npm's @sparticuz/chromium."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--ignore-gpu-blocklist",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--mute-audio",
    "--lang=en-US",
    "--remote-debugging-port=0",
    "about:blank",
)
"""Software rendering, no window, no sandbox: the browser sees a page of this machine only, and may run as root."""

START_PATIENCE = 120.0
CALL_PATIENCE = 240.0
"""[s] that the browser may take to come up, and to answer: it draws without a graphics card."""


class Browser:
    """One page. Use as a context manager: leaving it ends the browser."""

    def __init__(self, directory: Path, size: tuple[int, int] = (1600, 900)) -> None:
        """directory: an empty one for what the browser keeps. size: of the page [pixels]."""
        program = os.environ.get("BROWSER") or str(BROWSER / "chromium")
        own = {"LANG": "en_US.UTF-8", "LC_ALL": "", "HOME": str(directory)}
        if not os.environ.get("BROWSER"):
            own |= {"FONTCONFIG_PATH": str(BROWSER / "fonts"), "LD_LIBRARY_PATH": str(BROWSER / "lib")}
        self._log = (directory / "browser.log").open("w+")
        self._process = subprocess.Popen(
            [program, *FLAGS[:-1], f"--user-data-dir={directory / 'profile'}", FLAGS[-1]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            env={**os.environ, **own},
        )
        self._numbers = itertools.count(1)
        self.messages: list[str] = []
        try:
            self._socket = connect(self._address(), max_size=None, compression=None, ping_interval=None)
            target = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime"):
                self.call(f"{domain}.enable")
            self.call(
                "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
            )
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Browser:
        """Return the browser."""
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        self.close()

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def open(self, url: str) -> None:
        """Go to a page, as soon as its server answers."""
        end = time.monotonic() + START_PATIENCE
        while error := self.call("Page.navigate", url=url).get("errorText"):
            if time.monotonic() > end:
                raise TimeoutError(f"{url}: {error}")
            time.sleep(0.2)

    def ask(self, expression: str):
        """Return the value of an expression of JavaScript; what it throws is raised."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", answer))
        return answer["result"].get("value")

    @property
    def text(self) -> str:
        """What can be read on the page."""
        return self.ask("document.body ? document.body.innerText : ''")

    def wait_for(self, what, patience: float = 30.0) -> None:
        """Wait until `what`, a text on the page or a function of the browser, is true."""
        end = time.monotonic() + patience
        while not (what(self) if callable(what) else what in self.text):
            if time.monotonic() > end:
                raise TimeoutError(f"{what!r} not within {patience:g} s; the page says: {self.text!r}; {self.messages}")
            time.sleep(0.2)

    def click(self, text: str) -> None:
        """Click the button with this text."""
        found = self.ask(
            "(() => { const b = [...document.querySelectorAll('button')].find(b => b.innerText.trim() === "
            f"{json.dumps(text)}); if (!b) return null; const r = b.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        if found is None:
            raise LookupError(f"no button {text!r}; the page says: {self.text!r}")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=found[0], y=found[1], button="left", clickCount=1)

    def picture(self) -> bytes:
        """Return how the page looks now, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def call(self, method: str, **parameters: object) -> dict:
        """Call a method of the protocol on the page."""
        return self._call(method, self._session, **parameters)

    def _call(self, method: str, session: str | None = None, **parameters: object) -> dict:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        end = time.monotonic() + CALL_PATIENCE
        while True:
            answer = json.loads(self._socket.recv(timeout=max(0.1, end - time.monotonic())))
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._remember(answer)

    def _remember(self, event: dict) -> None:
        """Keep what the page complains of."""
        if event.get("method") == "Runtime.exceptionThrown":
            self.messages.append(str(event["params"]["exceptionDetails"].get("exception", {}).get("description")))
        if event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] == "error":
            self.messages.append(" ".join(str(part.get("value", "")) for part in event["params"]["args"]))

    def _address(self) -> str:
        end = time.monotonic() + START_PATIENCE
        while time.monotonic() < end:
            self._log.seek(0)
            said = self._log.read()
            if found := re.search(r"DevTools listening on (ws://\S+)", said):
                return found.group(1)
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"the browser does not start: {said[-500:]}")
