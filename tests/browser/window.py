"""A Chromium window in short words: go, read, press, wait for, look at."""

import base64
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ARTEFACTS = Path(__file__).parent.parent / "artefacts"
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PATIENCE_S = 20.0
WIDE, NARROW = 1280, 390
HEIGHTS = {WIDE: 800, NARROW: 844}
LOOKS = tuple((width, dark) for width in (WIDE, NARROW) for dark in (False, True))


class Window:
    """One window; `begin` makes it anybody's again."""

    def __init__(self, programs: dict[str, str], profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = programs["chromium"]
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(programs["chromedriver"], log_output=subprocess.DEVNULL))
        self.address = ""

    def close(self) -> None:
        self.driver.quit()

    def begin(self, address: str) -> None:
        self.address = address
        self.scripts(True)
        self.offline(False)
        self.wish("en")
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.size(WIDE)
        self.driver.get("about:blank")
        self.complaints()

    # -- the window itself

    def command(self, name: str, **named: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, named)

    def size(self, width: int, *, dark: bool = False) -> None:
        """Colours change at once: one that is on its way to another would be judged as it is."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHTS.get(width, 900), deviceScaleFactor=1, mobile=width < 500)
        wished = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        self.command("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in wished.items()])

    def scripts(self, allowed: bool) -> None:
        self.command("Emulation.setScriptExecutionDisabled", value=not allowed)

    def offline(self, lost: bool, *, latency_ms: int = 0) -> None:
        self.command("Network.enable")
        self.command("Network.emulateNetworkConditions", offline=lost, latency=latency_ms, downloadThroughput=-1, uploadThroughput=-1)

    def wish(self, languages: str) -> None:
        """In which languages the browser asks for pages."""
        self.command("Network.setExtraHTTPHeaders", headers={"Accept-Language": languages})

    def complaints(self) -> list[str]:
        """What the console said since the last look, but for a hint about password forms and answers that are refusals."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        return [text for text in said if not any(known in text for known in ("[DOM] Password forms", "status of 40", "status of 422"))]

    def look(self, width: int, dark: bool) -> str:
        """The same page at this width and in this scheme; the look in a word."""
        self.size(width, dark=dark)
        return f"{width}-{'dark' if dark else 'light'}"

    def shoot(self, name: str) -> None:
        """The whole page as a picture among the artefacts of the run."""
        ARTEFACTS.mkdir(exist_ok=True)
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        taken = self.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        (ARTEFACTS / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))

    # -- reading

    def go(self, path: str) -> None:
        self.driver.get(self.address + path)

    @property
    def path(self) -> str:
        return self.driver.current_url.removeprefix(self.address)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str = "main") -> str:
        """The text of all that the selector names; what is replaced in the same moment is read again."""
        from selenium.common.exceptions import StaleElementReferenceException

        while True:
            try:
                return " | ".join(element.text for element in self.all(selector))
            except StaleElementReferenceException:
                continue

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def focused(self) -> str:
        return str(self.run("return document.activeElement.id || document.activeElement.textContent.trim()"))

    # -- doing

    def sign_in(self, token: str, there: str = "/ops") -> None:
        self.go("/login?next=" + there.replace("?", "%3F").replace("&", "%26"))
        self.one("#token").send_keys(token)
        self.press("main form button")

    def press(self, selector: str) -> None:
        """Clicks what the selector names, and waits for the page that follows."""
        from selenium.common.exceptions import StaleElementReferenceException

        page = self.one("html")
        for _ in range(5):  # a part may be replaced between finding and clicking
            try:
                self.one(selector).click()
                break
            except StaleElementReferenceException:
                continue
        self.wait(lambda: self._gone(page), f"a page after {selector}")

    def _gone(self, page: Any) -> bool:
        from selenium.common.exceptions import WebDriverException

        try:
            return bool(page.is_enabled() and False)
        except WebDriverException:
            return bool(self.run("return document.readyState") == "complete")

    def keys(self, *pressed: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*pressed).perform()

    def wait(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE_S) -> None:
        ends = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < ends, f"not within {seconds} s: {what}\n{self.text()[:2000]}"
            time.sleep(0.1)

    def see(self, words: str, selector: str = "main") -> None:
        """The words stand there, now or soon."""
        self.wait(lambda: words in self.text(selector), f"{words!r} in {selector}")

    # -- judging

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.run("return document.scrollingElement.scrollWidth - window.innerWidth"))

    def violations(self) -> list[str]:
        """What axe finds on the page that is serious or critical."""
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text("utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations), e => done(String(e)))"
        )
        assert isinstance(found, list), found
        grave = [row for row in found if row["impact"] in ("serious", "critical")]
        return [f"{row['id']}: {row['help']}: {[node['html'][:160] for node in row['nodes'][:3]]}" for row in grave]
