"""With what, where and when the runs of a study were made."""

from typing import Any

from asmpg._support.files import naming, read_json
from asmpg._support.words import clock, counted
from asmpg.analysis._results import Results
from asmpg.analysis.report._html import definitions, table, text
from asmpg.studies import StudyFolder


def provenance(folder: StudyFolder, results: Results) -> str:
    """Versions, machines, times of all sessions, and the time each run took."""
    sessions = folder.sessions()
    parts = [f"<h3>Sessions</h3>{''.join(map(_session, sessions))}" if sessions else ""]
    parts.append(f"<h3>Runs</h3>{_runs(folder, results, sessions)}")
    return f"<section id='provenance'><h2>Versions, machine and time</h2>{''.join(parts)}</section>"


def _session(session: dict[str, Any]) -> str:
    machine = session["machine"]
    troubles = [
        f"{name}: {trouble}" for name, job in session["jobs"].items() for trouble in job["troubles"]
    ]
    memory = f", {machine['memory_gib']} GiB" if machine["memory_gib"] else ""
    cores = counted(machine["cores"], "core")
    facts = {
        "began": session["began"],
        "wall time": clock(session["wall_seconds"]),
        "machine": f"{machine['processor']}, {cores}{memory}, {machine['system']}",
        "jobs at a time": session["jobs_at_a_time"],
        "versions": ", ".join(
            f"{name} {session['made_with'][name]}" for name in ("asmpg", "jax", "python")
        ),
        "commit": session["made_with"]["commit"] or "–",
        "retries and failures": "; ".join(troubles) or "none",
    }
    return definitions(facts)


def _runs(folder: StudyFolder, results: Results, sessions: list[dict[str, Any]]) -> str:
    rows = []
    for job in folder.study.jobs():
        if job.name in results.missing:
            continue
        path = folder.run_path(job) / "config.json"
        with naming(path):
            made = read_json(path)["made_with"]
            device, version = made["device"], made["jax"]
        records = [session["jobs"][job.name] for session in sessions if job.name in session["jobs"]]
        seconds = sum(record["seconds"] for record in records)
        attempts = sum(record["attempts"] for record in records)
        rows.append([job.name, (clock(seconds), seconds), attempts, device, f"jax {version}"])
    headings = ["run", "time", "attempts", "device", "made with"]
    count = text(f"{counted(len(rows), 'run')}: time on one core or device, compilation included")
    return f"<details><summary>{count}</summary>{table(headings, rows, name='runs')}</details>"
