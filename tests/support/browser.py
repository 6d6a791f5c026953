"""Opening a page in a real browser."""

import html
import json
import re
import shutil
import subprocess

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
#: Goes into the head of a page, and remembers the errors of its scripts.
WATCH = (
    "<script>window.errors = []; onerror = (message) => { errors.push(String(message)); };</script>"
)


def browse(path):
    """Open a page in a real browser, and give what the scripts on it saw."""
    options = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
    options += " --disable-background-networking --disable-component-update --hide-scrollbars"
    options += " --allow-file-access-from-files --window-size=1280,900 --virtual-time-budget=10000"
    profile = path.parent / "profile"
    assert CHROMIUM is not None
    command = [
        CHROMIUM,
        *options.split(),
        f"--user-data-dir={profile}",
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-500:] + done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))
