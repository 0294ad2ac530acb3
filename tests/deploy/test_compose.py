"""deploy/compose.yaml: what Compose makes of it, and whether what it mounts would start. Images are not pulled and no
container is started: paths within other people's images are known from their documentation only."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
import yaml
from typer.testing import CliRunner

from collector.cli import app
from collector.config import Config, load_config
from tests.deploy.composed import compose_program, composed
from tests.end_to_end.server import SPANJUDGE, wait_for
from tests.go_programs import NoGo
from tests.integrations import require
from tests.kafka.broker import Broker
from tests.kafka.ports import free_ports

Service: TypeAlias = Mapping[str, Any]
Services: TypeAlias = Mapping[str, Service]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FILE = DEPLOY / "compose.yaml"
PROFILES = ("single", "kafka")
WITHOUT_SHELL = {"otel/opentelemetry-collector-contrib", "grafana/tempo"}
"""Images that hold one program and nothing that could ask it how it is."""
VARIABLES = {"SPANJUDGE_DB_PASSWORD": "of-a-test"}

pytestmark = [pytest.mark.integration("compose"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def program() -> Path:
    try:
        return compose_program()
    except NoGo as error:
        require("compose", False, str(error))
        raise


@pytest.fixture(scope="module", params=PROFILES)
def services(request: pytest.FixtureRequest, program: Path) -> Services:
    found: Services = composed(program, FILE, request.param, **VARIABLES)["services"]
    return found


def mounted(service: Service) -> Iterator[tuple[Path, str]]:
    """What of the checkout is put where."""
    for volume in service.get("volumes", ()):
        if volume["type"] == "bind":
            yield Path(volume["source"]), volume["target"]


def image(service: Service) -> tuple[str, str]:
    name, _, tag = service["image"].partition(":")
    return name, tag


# -- the whole ---------------------------------------------------------------------------------------------------------


def test_one_process_is_started_unless_a_profile_says_kafka(program: Path) -> None:
    usual = set(composed(program, FILE)["services"])
    single, kafka = (set(composed(program, FILE, profile)["services"]) for profile in PROFILES)
    assert usual == single
    assert {"spanjudge", "collector"} <= single
    assert {"receiver", "router", "worker", "kafka", "postgres", "collector-kafka"} <= kafka
    assert single & kafka == {"prometheus", "alertmanager", "grafana", "tempo", "queue"}


def test_images_are_pinned_to_what_the_tests_run(services: Services) -> None:
    tags = dict(image(service) for service in services.values())
    assert all(re.fullmatch(r"v?\d+\.\d+(\.\d+)?(-bookworm)?", tag) for tag in tags.values()), tags
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tags["spanjudge"] == project["version"]
    modules = (ROOT / "tests" / "otelcol" / "go.mod").read_text(encoding="utf-8")
    assert f"exporter/kafkaexporter v{tags['otel/opentelemetry-collector-contrib']}\n" in modules
    if "apache/kafka" in tags:
        assert f"<version>{tags['apache/kafka']}<" in (ROOT / "tests" / "kafka" / "pom.xml").read_text(encoding="utf-8")


def test_nobody_is_root_or_may_write_but_where_a_volume_is(services: Services) -> None:
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["user"].partition(":")[0]) > 0, name
        assert not {"cap_add", "privileged", "devices", "pid", "userns_mode"} & service.keys(), name
        assert all(volume.get("read_only") for volume in service.get("volumes", ()) if volume["type"] == "bind"), name


def test_ports_are_published_on_loopback_and_once(services: Services) -> None:
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}
    published = [port["published"] for port in ports]
    assert sorted(published) == sorted(set(published))
    assert {"3000", "4317", "4318", "9090", "9093", "9464"} <= set(published)


def test_whoever_can_be_asked_is_asked_whether_it_works(services: Services) -> None:
    for name, service in services.items():
        if image(service)[0] not in WITHOUT_SHELL | {"spanjudge"}:
            assert service["healthcheck"]["test"][0] == "CMD", name
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert "\nHEALTHCHECK " in dockerfile
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or image(services[other])[0] not in WITHOUT_SHELL, name


def test_whoever_is_spoken_to_is_on_a_network_with_who_speaks(services: Services) -> None:
    reached: dict[str, set[str]] = {}
    for name, service in services.items():
        for network, settings in (service.get("networks") or {}).items():
            for alias in (name, *((settings or {}).get("aliases") or ())):
                reached.setdefault(alias, set()).add(network)
    spoken = re.compile(rf"\b({'|'.join(reached)}):(\d{{4,5}})\b")
    for name, service in services.items():
        texts = [source.read_text(encoding="utf-8") for source, _ in mounted(service) if source.is_file()]
        texts.append(str(service.get("environment")))
        plain = "\n".join(line for text in texts for line in text.splitlines() if not line.lstrip().startswith("#"))
        for host, port in spoken.findall(plain):
            assert reached[host] & set(service["networks"]), f"{name} cannot reach {host}:{port}"


def test_every_file_that_is_mounted_is_there(services: Services) -> None:
    sources = [source for service in services.values() for source, _ in mounted(service)]
    assert sources
    assert [source for source in sources if not source.exists()] == []


def test_every_volume_is_used_by_somebody(program: Path) -> None:
    declared = set(yaml.safe_load(FILE.read_text(encoding="utf-8"))["volumes"])
    used = {
        volume["source"]
        for profile in PROFILES
        for service in composed(program, FILE, profile)["services"].values()
        for volume in service.get("volumes", ())
        if volume["type"] == "volume"
    }
    assert used == declared


# -- what is mounted ---------------------------------------------------------------------------------------------------


def lay_out(services: Services, into: Path) -> Mapping[str, Path]:
    """What ours see below /etc/spanjudge and /run/secrets, a directory each."""
    found = {}
    for name, service in services.items():
        if image(service)[0] == "spanjudge" and name != "queue":
            found[name] = into / name
            found[name].mkdir()
            (found[name] / "tokens.yaml").write_text("tokens:\n" + CliRunner().invoke(app, ["token", "me"]).stdout)
            for source, target in mounted(service):
                to = found[name] / Path(target).relative_to("/etc/spanjudge")
                if source.is_dir():
                    shutil.copytree(source, to)
                else:
                    to.write_text(source.read_text(encoding="utf-8").replace("/run/secrets", str(found[name])))
    return found


def read_as(service: Service, file: Path) -> Config:
    return load_config(file, {name: value for name, value in service["environment"].items() if value is not None})


def test_configurations_of_ours_are_good(services: Services, tmp_path: Path) -> None:
    laid = lay_out(services, tmp_path)
    assert len(laid) in {1, 3}
    for name, directory in laid.items():
        file = directory / "spanjudge.yaml"
        given = {key: value for key, value in services[name]["environment"].items() if value is not None}
        checked = CliRunner().invoke(app, ["check-config", str(file)], env=given)
        assert checked.exit_code == 0, checked.output
        config = read_as(services[name], file)
        assert config.role == given.get("SPANJUDGE_ROLE", "all")
        assert str(config.data_dir) in {*_writable(services[name])}
        assert float(services[name]["stop_grace_period"].removesuffix("s")) > config.shutdown_seconds
        assert config.export is not None
        assert config.export.otlp is not None
        assert config.export.otlp.endpoint.endswith("collector:14317")


def test_one_process_starts_as_mounted_and_opens_the_page_for_the_token(program: Path, tmp_path: Path) -> None:
    services = composed(program, FILE, "single", **VARIABLES)["services"]
    directory = lay_out(services, tmp_path)["spanjudge"]
    ports = dict(zip(("4317", "4318", "9464"), free_ports(3), strict=True))
    file = directory / "spanjudge.yaml"
    text = file.read_text().replace("data_dir: /data", f"data_dir: {tmp_path / 'data'}")
    file.write_text(re.sub(r"0\.0\.0\.0:(\d+)", lambda found: f"127.0.0.1:{ports[found[1]]}", text))
    token = CliRunner().invoke(app, ["token", "me"])
    (directory / "tokens.yaml").write_text(f"tokens:\n{token.stdout}")
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([str(SPANJUDGE), "run", "-c", str(file)], stdout=output, stderr=output)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{ports['9464']}", trust_env=False) as client:
            wait_for(lambda: _ready(client) or process.poll() is not None, "ready", 60)
            assert process.poll() is None, log.read_text()
            assert client.get("/api/v1/sessions").status_code == 401
            shown = token.stderr.split()[-1]
            assert client.get("/sessions", headers={"authorization": f"Bearer {shown}"}).status_code == 200
    finally:
        process.kill()
        process.wait()


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _writable(service: Service) -> Iterator[str]:
    yield from (volume["target"] for volume in service.get("volumes", ()) if volume["type"] == "volume")
    yield from (each.partition(":")[0] for each in service.get("tmpfs", ()))


@pytest.mark.integration("promtool")
def test_prometheus_takes_its_configuration_and_finds_every_role(services: Services, tmp_path: Path) -> None:
    require("promtool", shutil.which("promtool") is not None, "install Debian's prometheus")
    for source, target in mounted(services["prometheus"]):
        shutil.copy(source, tmp_path / Path(target).name)
    file = tmp_path / "prometheus.yaml"
    checked = subprocess.run(["promtool", "check", "config", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    scraped = {
        name: job["job_name"]
        for job in yaml.safe_load(file.read_text())["scrape_configs"]
        for found in job.get("dns_sd_configs", ())
        for name in found["names"]
    }
    ours = {name for name, service in services.items() if image(service)[0] == "spanjudge" and name != "queue"}
    assert ours <= set(scraped)
    assert all(scraped[name] == f"spanjudge-{name}".replace("spanjudge-spanjudge", "spanjudge") for name in ours)


@pytest.mark.integration("amtool")
def test_alertmanager_takes_its_configuration(services: Services) -> None:
    require("amtool", shutil.which("amtool") is not None, "install Debian's prometheus-alertmanager")
    ((file, _),) = mounted(services["alertmanager"])
    checked = subprocess.run(["amtool", "check-config", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_grafana_is_given_every_name_that_its_provisioning_asks_for(services: Services) -> None:
    grafana = services["grafana"]
    asked = {
        name
        for source, _ in mounted(grafana)
        for file in source.rglob("*.yaml")
        for line in file.read_text(encoding="utf-8").splitlines()
        for name in re.findall(r"(?<!\$)\$(\w+)", re.sub(r"(^|\s)#.*", "", line))
    }
    assert asked
    assert asked <= set(grafana["environment"])
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/spanjudge.yaml").read_text())["providers"]
    assert provider["options"]["path"] in {target for _, target in mounted(grafana)}


@pytest.mark.integration("kafka")
def test_a_real_broker_starts_with_the_properties_of_compose(tmp_path: Path, jars: Path, program: Path) -> None:
    kafka = composed(program, FILE, "kafka")["services"]["kafka"]
    ((file, _),) = mounted(kafka)
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    given = dict(line.split("=", 1) for line in lines)
    assert given["log.dirs"] in {*_writable(kafka)}
    port, controller = free_ports(2)
    moved = {"9092": str(port), "9093": str(controller), "kafka:": "127.0.0.1:", "0.0.0.0": "127.0.0.1"}
    here = re.compile("|".join(map(re.escape, moved)))
    given = {key: here.sub(lambda found: moved[found[0]], value) for key, value in given.items()}
    given["log.dirs"] = str(tmp_path / "kafka" / "data")
    with Broker(tmp_path / "kafka", jars, given) as broker:
        assert broker.bootstrap == f"127.0.0.1:{port}"
