"""`npu-smi exporter`: the devices as Prometheus metrics, with npu-exporter's names and labels."""

from __future__ import annotations

import time
from typing import NoReturn

import typer

from cli.common import CliError, run

PORT = 8082  # npu-exporter's

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def main(arguments: list[str]) -> NoReturn:
    run("npu-smi exporter", app, arguments)


@app.command("exporter")
def exporter(
    ip: str = typer.Option("127.0.0.1", "--ip", help="Address to listen on; another one makes the figures public there."),
    port: int = typer.Option(PORT, "--port", min=0, max=65535, help="Port to listen on; 0 = any free one."),
    once: bool = typer.Option(False, "--once", help="Print the metrics and leave."),
    sim: bool = typer.Option(False, "--sim", help="The simulated devices, also beside real ones."),
) -> int:
    """Serve /metrics for Prometheus: one query of the devices for every scrape. Dashboards of npu-exporter fit."""
    from prometheus_client import CollectorRegistry, generate_latest, start_http_server

    from cli.metrics import Devices

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Devices(["--sim"] if sim else []))
    if once:
        print(generate_latest(registry).decode(), end="")
        return 0
    try:
        server, _ = start_http_server(port, ip, registry)
    except OSError as error:
        raise CliError(
            f"cannot listen on {ip}:{port}: {error.strerror or error}", "choose another --port, or end who listens there"
        ) from error
    print(f"http://{ip}:{server.server_port}/metrics  (ctrl-C ends it)", flush=True)
    while True:
        time.sleep(3600)
