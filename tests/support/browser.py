"""Opening a page in a real browser."""

import json
import queue
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
#: Goes into the head of a page: remembers the errors of its scripts, and tells what they saw.
_WATCH = """<script>
window.errors = []; onerror = (message) => { errors.push(String(message)); };
const tell = (seen) => fetch("http://127.0.0.1:PORT/",
  {method: "POST", mode: "no-cors", body: JSON.stringify({...seen, errors, width: innerWidth})});
</script>"""


def browse(page, script, folder, width=None):
    """Open a page as a user would, from a file, run a script, and give what it calls `tell` with.

    With a width, the page is in a frame that wide: browsers make no window as narrow as a phone.
    """
    answers = queue.Queue()

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    watch = _WATCH.replace("PORT", str(server.server_port))
    script = f"<script>{script}</script>"
    path = folder / "watched.html"
    path.write_text(page.replace("<head>", "<head>" + watch).replace("</body>", script + "</body>"))
    if width:
        frame = f'<iframe src="{path.name}" style="width:{width}px;height:800px"></iframe>'
        path = folder / "frame.html"
        path.write_text(frame)
    options = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
    options += " --disable-background-networking --disable-component-update --hide-scrollbars"
    options += " --window-size=1280,900 --remote-debugging-port=0"
    assert CHROMIUM is not None
    command = [CHROMIUM, *options.split(), f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(folder / "browser.log", "w") as log:
        browser = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        return answers.get(timeout=120)
    except queue.Empty:
        raise AssertionError((folder / "browser.log").read_text()[-2000:]) from None
    finally:
        browser.terminate()
        browser.wait()
        server.shutdown()
        server.server_close()
