"""The real program, started as the pods of the rendered chart start it: with their arguments, their environment and the
files of their ConfigMaps. Only paths and ports are others."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
import yaml

from tests.certificates import Authority
from tests.end_to_end.server import SPANJUDGE, wait_for
from tests.helm.cases import EXTRAS, Values, merged
from tests.helm.rendering import Helm, Object, Rendered
from tests.kafka.desk import Desk
from tests.kafka.ports import free_ports

pytestmark = [pytest.mark.integration("helm"), pytest.mark.timeout(1800)]

QUICK: Values = {
    "config": {"journal": {"min_free_bytes": 0}, "evaluation": {"processes": 0}, "sessions": {"idle_seconds": 60}}
}
PORTS = (4317, 4318, 9464)
Secrets: TypeAlias = Mapping[str, Mapping[str, str]]
"""By name of the Secret, then by key."""
NONE: Secrets = {}
SUITE = """\
name: desk
version: "1"
cases:
  - id: never-delete
    match: {service: desk}
    forbidden_events: [{tool: delete_order}]
"""


@dataclass(frozen=True)
class Pod:
    """A running process that thinks it is in a pod."""

    container: Object
    ports: Mapping[str, int]
    log: Path
    process: subprocess.Popen[bytes]

    def probe(self, name: str) -> int | None:
        """The status that the kubelet would get."""
        get = self.container[f"{name}Probe"]["httpGet"]
        try:
            url = f"{get['scheme'].lower()}://127.0.0.1:{self.ports[get['port']]}{get['path']}"
            return httpx.get(url, trust_env=False, verify=False).status_code  # nor does the kubelet look
        except httpx.TransportError:
            return None

    def metrics(self) -> str:
        return httpx.get(f"http://127.0.0.1:{self.ports['admin']}/metrics", trust_env=False).text


def _files(rendered: Rendered, pod: Object, root: Path, secrets: Secrets = NONE) -> Mapping[str, Path]:
    """What is mounted, below `root`: by where it is in the pod. `secrets` are those that are there."""
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    (container,) = pod["spec"]["containers"]
    found = {}
    for mount in container["volumeMounts"]:
        directory = found[mount["mountPath"]] = root / mount["mountPath"].lstrip("/")
        directory.mkdir(parents=True)
        volume = volumes.get(mount["name"], {})
        sources = volume.get("projected", {}).get("sources", [volume])
        for source in sources:
            if "configMap" in source:
                for file, text in rendered.one("ConfigMap", source["configMap"]["name"])["data"].items():
                    (directory / file).write_text(text)
            if "secret" in source:
                for file, text in secrets[source["secret"]["secretName"]].items():
                    (directory / file).write_text(text)
    return found


def _here(value: Any, mounted: Mapping[str, Path], ports: Mapping[int, int]) -> Any:
    """What stands in the pod, with the paths and ports of this machine."""
    match value:
        case dict():
            return {key: _here(each, mounted, ports) for key, each in value.items()}
        case list():
            return [_here(each, mounted, ports) for each in value]
        case str() if value.startswith("0.0.0.0:"):
            return f"127.0.0.1:{ports[int(value.partition(':')[2])]}"
        case str() if value.startswith("/"):
            place = max(there for there in mounted if value == there or value.startswith(f"{there}/"))
            return f"{mounted[place]}{value.removeprefix(place)}"
        case _:
            return value


def _value(entry: Object, pod: str, secrets: Secrets) -> str:
    """Of an environment variable, as the kubelet finds it."""
    match entry:
        case {"value": str(value)}:
            return value
        case {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}:
            return pod
        case {"valueFrom": {"secretKeyRef": {"name": name, "key": key}}}:
            return secrets[name][key]
    raise AssertionError(entry)


@contextmanager
def running(rendered: Rendered, part: str, root: Path, secrets: Secrets = NONE) -> Iterator[Pod]:
    """A pod of this part, where these secrets are."""
    pod = rendered.pods()[part]
    (container,) = pod["spec"]["containers"]
    mounted = _files(rendered, pod, root, secrets)
    named = {port["name"]: port["containerPort"] for port in container["ports"]}
    free = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    config = mounted["/etc/spanjudge/config"] / "spanjudge.yaml"
    config.write_text(yaml.safe_dump(_here(yaml.safe_load(config.read_text()), mounted, free)))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), "TMPDIR": str(mounted["/tmp"])}
    for entry in container["env"]:
        environment[entry["name"]] = _value(entry, f"spanjudge-{part}-0", secrets)
    arguments = _here(container["args"], mounted, free)
    log = root / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPANJUDGE), *arguments], stdout=output, stderr=output, env=environment, cwd=mounted["/data"]
        )
    started = Pod(container, {name: free[port] for name, port in named.items()}, log, process)
    try:
        wait_for(lambda: started.probe("readiness") == 200 or process.poll() is not None, f"{part} is ready", 120)
        assert process.poll() is None, log.read_text()
        yield started
        process.terminate()
        grace_s: int = pod["spec"]["terminationGracePeriodSeconds"]
        assert process.wait(grace_s) == 0, log.read_text()
    except BaseException as error:
        error.add_note(f"the log of {part}:\n{log.read_text()[-4000:]}")
        raise
    finally:
        process.kill()
        process.wait()


def accepts(port: int) -> bool:
    """Does somebody take OTLP/HTTP here?"""
    content = {"content-type": "application/json"}
    answer = httpx.post(f"http://127.0.0.1:{port}/v1/traces", content=b"{}", headers=content, trust_env=False)
    return answer.status_code == 200


def test_one_process_starts_answers_its_probes_and_stops_in_time(helm: Helm, tmp_path: Path) -> None:
    values = merged(QUICK, {"suites": {"desk.yaml": SUITE}, "rubrics": {}})
    with running(helm.render(values), "single", tmp_path) as pod:
        assert [pod.probe(name) for name in ("startup", "liveness", "readiness")] == [200, 200, 200]
        assert accepts(pod.ports["otlp-http"])
        assert "spanjudge_build_info" in pod.metrics()
        assert (tmp_path / "data" / "verdicts.sqlite3").exists()
    assert '"event"' in pod.log.read_text()  # JSON lines, as the values say


@pytest.mark.integration("kafka")
def test_receiver_router_and_worker_start_and_answer_their_probes(helm: Helm, kafka: Desk, tmp_path: Path) -> None:
    topics = {name: kafka.name(name) for name in ("spans", "logs", "links", "sessions", "verdicts", "dead_letters")}
    given: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap,
        "topics": topics,
        "create": {"replicas": 1, "partitions": 2, "session_partitions": 2},
        "router_group": kafka.name("routers"),
        "worker_group": kafka.name("workers"),
        "transactional_id": kafka.name("router"),
    }
    scaled: Values = {
        "mode": "scaled",
        "config": {"kafka": given},
        "router": {"replicas": 1},
        "worker": {"replicas": 1},
    }
    rendered = helm.render(merged(QUICK, scaled))
    with ExitStack() as pods:
        started = {
            part: pods.enter_context(running(rendered, part, tmp_path / part))
            for part in ("receiver", "router", "worker")
        }
        for pod in started.values():
            assert [pod.probe(name) for name in ("startup", "liveness", "readiness")] == [200, 200, 200]
        assert accepts(started["receiver"].ports["otlp-http"])
        assert "spanjudge_kafka_router_waiting_messages" in started["router"].metrics()
        assert "spanjudge_kafka_work_waiting_messages" in started["worker"].metrics()


@pytest.mark.integration("postgres")
def test_a_secret_reaches_the_program_as_an_environment_variable(helm: Helm, database: Any, tmp_path: Path) -> None:
    url = database.render_as_string(hide_password=False)
    values = {
        "config": {"store": {"url": "${env:STORE_URL}"}},
        "secrets": {"env": {"STORE_URL": {"secret": "database", "key": "url"}}},
    }
    with running(helm.render(merged(QUICK, values)), "single", tmp_path, {"database": {"url": url}}) as pod:
        assert not (tmp_path / "data" / "verdicts.sqlite3").exists()
        assert pod.probe("readiness") == 200


def test_certificates_and_tokens_of_secrets_are_in_force(helm: Helm, tmp_path: Path) -> None:
    pair = Authority(tmp_path / "authority").issue("spanjudge")
    tls = {"tls.crt": pair.certificate.read_text(), "tls.key": pair.key.read_text()}
    token = {"tokens.yaml": f"tokens: [{{name: ana, token: {'0123456789abcdef' * 2}}}]"}
    secrets = {
        "spanjudge-tls": tls | {"ca.crt": tls["tls.crt"]},
        "sender-tokens": token,
        "people-tokens": token,
    }
    rendered = helm.render(merged(QUICK, EXTRAS["tls"], EXTRAS["auth"]))
    with running(rendered, "single", tmp_path, secrets) as pod, httpx.Client(trust_env=False, verify=False) as client:
        assert [pod.probe(name) for name in ("startup", "liveness", "readiness")] == [200, 200, 200]
        traces = f"https://127.0.0.1:{pod.ports['otlp-http']}/v1/traces"
        sessions = f"https://127.0.0.1:{pod.ports['admin']}/api/v1/sessions"
        content = {"content-type": "application/json"}
        known = {"authorization": f"Bearer {'0123456789abcdef' * 2}"}
        assert client.post(traces, content=b"{}", headers=content).status_code == 401
        assert client.post(traces, content=b"{}", headers=content | known).status_code == 200
        assert client.get(sessions).status_code == 401
        assert client.get(sessions, headers=known).status_code == 200


def test_our_own_check_of_the_configuration_agrees(helm: Helm, tmp_path: Path) -> None:
    rendered = helm.render({"suites": {"desk.yaml": SUITE}})
    mounted = _files(rendered, rendered.pods()["single"], tmp_path)
    config = mounted["/etc/spanjudge/config"] / "spanjudge.yaml"
    config.write_text(yaml.safe_dump(_here(rendered.config(), mounted, dict.fromkeys(PORTS, 0))))
    checked = subprocess.run([SPANJUDGE, "check-config", config], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "suites: 1, cases: 1" in checked.stdout
