"""Which browser is on this machine, and how it is called. Starts nothing."""

from __future__ import annotations

import glob
import os
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = (
    "chromium-headless-shell",  # starts in half the time, and has nothing but what is needed
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
    "brave-browser",
)
PLACES = (
    "/opt/google/chrome/chrome",
    "/opt/microsoft/msedge/msedge",
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "~/.cache/ms-playwright/chromium_headless_shell-*/chrome-*/*headless?shell",
    "~/.cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "~/.cache/puppeteer/chrome-headless-shell/*/*/chrome-headless-shell",
    "~/.cache/puppeteer/chrome/*/*/chrome",
    "/snap/bin/chromium",
)
"""The usual places of programs that are in no PATH, and of those that other tools bring."""

FEATURES_OFF = (
    "SpareRendererForSitePerProcess",  # every page has a profile of its own: the spare would never be used
    *("BackForwardCache", "ProactivelySwapBrowsingInstance"),  # a page that is left ends, and leaves its process to us
    *("OptimizationHints", "MediaRouter", "DialMediaRouteProvider", "Translate", "AutofillServerCommunication"),
    *("CertificateTransparencyComponentUpdater", "InterestFeedContentSuggestions", "NetworkTimeServiceQuerying"),
)
SWITCHES = (
    *("--headless", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run", "--no-default-browser-check"),
    # Every connection goes through the call's own proxy; what belongs to no call goes nowhere.
    *("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--disable-quic"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    *("--dns-prefetch-disable", "--no-pings", "--block-new-web-contents"),
    # No name but the proxies' is resolved by the browser.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    # Nothing is asked or told at home.
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection", "--metrics-recording-only"),
    *("--disable-breakpad", "--disable-crash-reporter", "--no-crash-upload", "--disable-extensions"),
    *("--password-store=basic", "--use-mock-keychain", "--disable-search-engine-choice-screen"),
    # Only text is wanted.
    *("--blink-settings=imagesEnabled=false", "--mute-audio", "--hide-scrollbars", "--disable-gpu"),
    *("--disable-notifications", "--disable-speech-api", "--deny-permission-prompts", "--disable-file-system"),
    "--autoplay-policy=document-user-activation-required",
    # Tabs that nobody looks at work as fast as others.
    *("--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows"),
    *("--disable-renderer-backgrounding", "--disable-hang-monitor", "--disable-ipc-flooding-protection"),
    "--js-flags=--max-old-space-size=512",
    "--disable-features=" + ",".join(FEATURES_OFF),
)

PREFERENCES = '{"webrtc": {"ip_handling_policy": "disable_non_proxied_udp", "multiple_routes_enabled": false}}'


def find(configured: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """(path of the program, why there is none). Exactly one of them is empty."""
    if configured:
        path = os.path.expanduser(configured)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path, ""
        return "", f"CHROMIUM_PATH names {configured}, which is no program"
    for name in NAMES:
        found = shutil.which(name, path=environ.get("PATH"))
        if found:
            return found, ""
    for pattern in PLACES:
        for path in sorted(glob.glob(os.path.expanduser(pattern)), reverse=True):
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path, ""
    return "", "no Chromium, Chrome or Edge was found; install one, or set CHROMIUM_PATH"


def arguments(program: str, directory: str, *, sandboxed: bool) -> list[str]:
    """A command line whose browser keeps everything it writes in `directory`."""
    own = [f"--user-data-dir={directory}/profile", f"--disk-cache-dir={directory}/cache"]
    if not sandboxed:
        own.append("--no-sandbox")
    if not _roomy("/dev/shm"):
        own.append("--disable-dev-shm-usage")
    return [program, *SWITCHES, *own, "about:blank"] if "headless-shell" in program else [program, *SWITCHES, *own]


def _roomy(path: str) -> bool:
    """False where shared memory is what containers give: 64 MB are less than one page takes."""
    try:
        found = os.statvfs(path)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize > 512 * 1024 * 1024


def environment(base: Mapping[str, str], directory: str) -> dict[str, str]:
    """Without the user's proxies and session bus; its caches and sockets are in `directory` too."""
    kept = {
        name: value
        for name, value in base.items()
        if not name.lower().endswith("_proxy")
        and name not in ("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY")
    }
    places = {
        "TMPDIR": f"{directory}/tmp",
        "XDG_CONFIG_HOME": f"{directory}/config",
        "XDG_CACHE_HOME": f"{directory}/cache",
        "XDG_RUNTIME_DIR": f"{directory}/tmp",
    }
    home = kept.get("HOME", "")
    if not os.path.isdir(f"{home}/.pki/nssdb"):  # certificates that the user trusts; else one would be left there
        places["HOME"] = directory
    return {**kept, **places}
