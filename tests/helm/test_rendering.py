"""Whatever the values, Kubernetes takes what the chart renders, and it is as an operator wants it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from collector.config import Config
from judge.documents import parse_document
from tests.helm.cases import EXTRAS, MODES, SCALED, SINGLE, Values, matrix, merged
from tests.helm.rendering import CHART, Helm, Object, Rendered
from tests.helm.schemas import VERSIONS, Schemas
from tests.helm.values_schema import values_schema

pytestmark = [pytest.mark.integration("helm"), pytest.mark.timeout(1800)]  # the first build takes minutes

MATRIX = dict(matrix())
SCHEMA = values_schema()
EVERYTHING = merged(SCALED, *(EXTRAS[name] for name in EXTRAS if name not in {"hpa", "no-volumes"}))


def containers(rendered: Rendered) -> Iterator[tuple[str, Object]]:
    for part, pod in rendered.pods().items():
        for container in pod["spec"]["containers"]:
            yield part, container


@pytest.mark.parametrize("name", MATRIX)
def test_kubernetes_takes_every_object(helm: Helm, schemas: Schemas, name: str) -> None:
    rendered = helm.render(MATRIX[name])
    assert rendered.workloads()
    version = VERSIONS[int(hashlib.sha256(name.encode()).hexdigest(), 16) % len(VERSIONS)]
    for each in rendered.objects:
        schemas.check(each, version)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", [merged(SINGLE, EXTRAS["monitoring"]), EVERYTHING], ids=["single", "scaled"])
def test_every_version_of_kubernetes_takes_every_object(
    helm: Helm, schemas: Schemas, values: Values, version: str
) -> None:
    for each in helm.render(values).objects:
        schemas.check(each, version)


@pytest.mark.parametrize("values", [SINGLE, SCALED, EVERYTHING], ids=["single", "scaled", "everything"])
def test_lint_finds_nothing(helm: Helm, values: Values) -> None:
    helm.lint(values)


@pytest.mark.parametrize("name", MATRIX)
def test_our_own_reading_of_the_configuration_finds_nothing_wrong(helm: Helm, name: str) -> None:
    environment = dict.fromkeys(("DB_PASSWORD", "KAFKA_PASSWORD", "POD_NAME"), "a-secret")
    environment |= {"STORE_URL": "postgresql://u:p@db/spanjudge"}
    text = helm.render(MATRIX[name]).one("ConfigMap", MATRIX[name].get("fullnameOverride", "spanjudge"))
    for role in ("receiver", "router", "worker"):
        config = parse_document(text["data"]["spanjudge.yaml"], name, Config, environment | {"SPANJUDGE_ROLE": role})
        assert config.role == (role if name.startswith("scaled") else "all")


def emptied(schema: Mapping[str, Any], defaults: Mapping[str, Any]) -> Values:
    """Null for every value that the schema does not ask for."""
    found: Values = {}
    for key, value in defaults.items():
        below = schema["properties"][key]
        below = SCHEMA["$defs"][below["$ref"].removeprefix("#/$defs/")] if "$ref" in below else below
        if key not in schema["required"]:
            found[key] = None
        elif isinstance(value, dict):
            found[key] = emptied(below, value)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_what_may_be_left_empty_may_be_all_at_once(helm: Helm, schemas: Schemas, mode: str) -> None:
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    nothing = emptied(SCHEMA, defaults)
    assert nothing["image"] == {"tag": None, "digest": None}
    for each in helm.render(merged(nothing, MODES[mode])).objects:
        schemas.check(each, VERSIONS[-1])


@pytest.mark.parametrize(
    ("tag", "version"), [("1.2.3", "1.2.3"), ("f" * 64, "f" * 63), (f"{'1' * 60}.-_.-", "1" * 60), ("v2-", "v2")]
)
def test_whatever_the_tag_the_version_is_a_label_that_kubernetes_takes(helm: Helm, tag: str, version: str) -> None:
    workload = helm.render({"image": {"tag": tag}}).workloads()["single"]
    assert workload["metadata"]["labels"]["app.kubernetes.io/version"] == version
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"spanjudge:{tag}"


def test_names_are_unique_and_short_enough(helm: Helm) -> None:
    for release in ("spanjudge", "r" * 53):
        rendered = helm.render(EVERYTHING | {"fullnameOverride": ""}, release)
        names = [(each["kind"], each["metadata"]["name"]) for each in rendered.objects]
        assert len(names) == len(set(names))
        # StatefulSets put a hash behind their name, in a label of at most 63 characters.
        assert max(len(name) for kind, name in names if kind == "StatefulSet") <= 52
        assert all(len(name) <= 63 for _, name in names)


@pytest.mark.parametrize("values", [SINGLE, EVERYTHING], ids=["single", "scaled"])
def test_a_process_has_no_rights_that_it_does_not_need(helm: Helm, values: Values) -> None:
    rendered = helm.render(values)
    for pod in rendered.pods().values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        context = pod["spec"]["securityContext"]
        assert context["runAsNonRoot"]
        assert context["runAsUser"] >= 10_000
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for _, container in containers(rendered):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert not context["allowPrivilegeEscalation"]
        writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
        assert writable - {"/etc/ssl/extra"} == {"/data", "/tmp"}
    assert not any(each["automountServiceAccountToken"] for each in rendered.all("ServiceAccount"))
    assert not {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} & {
        each["kind"] for each in rendered.objects
    }


@pytest.mark.parametrize("values", [SINGLE, EVERYTHING], ids=["single", "scaled"])
def test_probes_ask_where_the_process_answers_and_never_about_its_neighbours_to_kill_it(
    helm: Helm, values: Values
) -> None:
    for _, container in containers(helm.render(values)):
        asked = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")}
        assert {name: get["path"] for name, get in asked.items()} == {
            "startup": "/livez",
            "liveness": "/livez",
            "readiness": "/readyz",
        }
        named = {port["name"] for port in container["ports"]}
        assert {get["port"] for get in asked.values()} <= named
        startup = container["startupProbe"]
        assert startup["periodSeconds"] * startup["failureThreshold"] >= 600


def test_probes_and_scrapes_speak_tls_where_the_admin_listener_does(helm: Helm) -> None:
    rendered = helm.render(merged(SINGLE, EXTRAS["tls"], EXTRAS["monitoring"]))
    for _, container in containers(rendered):
        assert {container[f"{name}Probe"]["httpGet"]["scheme"] for name in ("startup", "liveness", "readiness")} == {
            "HTTPS"
        }
    (endpoint,) = rendered.one("ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"] == {"serverName": "spanjudge"}


@pytest.mark.parametrize("seconds", [5, 20, 60.5])
def test_pods_are_given_longer_to_stop_than_the_process_takes(helm: Helm, seconds: float) -> None:
    for mode in MODES.values():
        rendered = helm.render(merged(mode, {"config": {"shutdown_seconds": seconds}, "preStopSleepSeconds": 7}))
        for pod in rendered.pods().values():
            assert pod["spec"]["terminationGracePeriodSeconds"] >= seconds + 7 + 5


@pytest.mark.parametrize("values", [SINGLE, EVERYTHING], ids=["single", "scaled"])
def test_every_service_finds_pods_and_ports(helm: Helm, values: Values) -> None:
    rendered = helm.render(values)
    for service in rendered.all("Service"):
        selector = service["spec"]["selector"].items()
        pods = [pod for pod in rendered.pods().values() if selector <= pod["metadata"]["labels"].items()]
        assert pods, service["metadata"]["name"]
        for pod in pods:
            (container,) = pod["spec"]["containers"]
            assert {port["targetPort"] for port in service["spec"]["ports"]} <= {
                port["name"] for port in container["ports"]
            }
    governing = {workload["spec"]["serviceName"] for workload in rendered.all("StatefulSet")}
    assert governing <= {each["metadata"]["name"] for each in rendered.all("Service")}


@pytest.mark.parametrize("values", [SINGLE, EVERYTHING], ids=["single", "scaled"])
def test_what_selects_pods_stays_the_same_from_version_to_version(helm: Helm, values: Values) -> None:
    for workload in helm.render(values).workloads().values():
        selected = workload["spec"]["selector"]["matchLabels"]
        assert set(selected) == {f"app.kubernetes.io/{key}" for key in ("name", "instance", "component")}
        assert selected.items() <= workload["spec"]["template"]["metadata"]["labels"].items()


def test_secrets_are_named_and_never_written(helm: Helm) -> None:
    rendered = helm.render(EVERYTHING)
    assert not rendered.all("Secret")
    for _, container in containers(rendered):
        given = {entry["name"]: entry.get("valueFrom") for entry in container["env"]}
        assert given["DB_PASSWORD"] == {"secretKeyRef": {"name": "database", "key": "password"}}
        assert given["ANTHROPIC_API_KEY"] == {"secretKeyRef": {"name": "judge", "key": "api-key"}}
    for pod in rendered.pods().values():
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        assert volumes["secret-tls"]["secret"]["secretName"] == "spanjudge-tls"


def test_one_process_has_a_volume_that_outlives_the_release(helm: Helm) -> None:
    spec = helm.render().one("StatefulSet", "spanjudge-single")["spec"]
    assert spec["replicas"] == 1
    assert [claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]] == ["data"]
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_scaled_out_each_part_knows_its_role_and_its_name(helm: Helm) -> None:
    rendered = helm.render(SCALED)
    assert rendered.config()["kafka"]["instance_id"] == "${env:POD_NAME}"
    roles = {}
    for part, container in containers(rendered):
        given = {entry["name"]: entry for entry in container["env"]}
        roles[part] = given["SPANJUDGE_ROLE"]["value"]
        assert given["POD_NAME"]["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert roles == {"receiver": "receiver", "router": "router", "worker": "worker"}
    kinds = {part: workload["kind"] for part, workload in rendered.workloads().items()}
    assert kinds == {"receiver": "Deployment", "router": "StatefulSet", "worker": "StatefulSet"}


@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_replicas_are_left_to_what_scales(helm: Helm, kind: str) -> None:
    rendered = helm.render(merged(SCALED, EXTRAS[kind]))
    assert not any("replicas" in workload["spec"] for workload in rendered.workloads().values())
    scalers = [*rendered.all("HorizontalPodAutoscaler"), *rendered.all("ScaledObject")]
    targets = {(each["spec"]["scaleTargetRef"]["kind"], each["spec"]["scaleTargetRef"]["name"]) for each in scalers}
    assert len(scalers) == 3
    assert targets == {(each["kind"], each["metadata"]["name"]) for each in rendered.workloads().values()}


def test_routers_and_workers_follow_the_work_that_waits_and_go_one_by_one(helm: Helm) -> None:
    rendered = helm.render(merged(SCALED, EXTRAS["keda"]))
    for part, metric in (("router", "router_waiting_messages"), ("worker", "work_waiting_messages")):
        spec = rendered.one("ScaledObject", f"spanjudge-{part}")["spec"]
        asked = {trigger["type"]: trigger["metadata"] for trigger in spec["triggers"]}
        assert asked["prometheus"]["query"] == (
            f'sum(spanjudge_kafka_{metric}{{namespace="agents",pod=~"spanjudge-{part}-.*"}})'
        )
        down = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleDown"]
        assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 900}]
    spec = helm.render(merged(SCALED, EXTRAS["hpa"])).one("HorizontalPodAutoscaler", "spanjudge-worker")["spec"]
    (waiting,) = [each["pods"] for each in spec["metrics"] if each["type"] == "Pods"]
    assert waiting["metric"] == {"name": "spanjudge_kafka_work_waiting_messages"}
    assert waiting["target"] == {"type": "AverageValue", "averageValue": "9000"}


@pytest.mark.parametrize("mode", MODES)
def test_pods_of_each_part_may_be_moved_one_at_a_time(helm: Helm, mode: str) -> None:
    rendered = helm.render(MODES[mode])
    budgets = {each["metadata"]["name"]: each["spec"] for each in rendered.all("PodDisruptionBudget")}
    for workload in rendered.workloads().values():
        budget = budgets.pop(workload["metadata"]["name"])
        assert budget["maxUnavailable"] == 1
        assert budget["selector"] == workload["spec"]["selector"]
    assert not budgets


def test_a_network_policy_lets_senders_send_and_nobody_else_read(helm: Helm) -> None:
    spec = helm.render(EXTRAS["network-policy"]).one("NetworkPolicy")["spec"]
    senders, admins = spec["ingress"]
    assert [port["port"] for port in senders["ports"]] == [4317, 4318]
    assert [port["port"] for port in admins["ports"]] == [9464]
    assert admins["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for port in spec["egress"][0]["ports"]] == [53, 53]


def test_pods_are_replaced_when_their_configuration_changes_unless_that_is_not_wanted(helm: Helm) -> None:
    def checksum(*values: Values) -> str | None:
        (pod,) = helm.render(merged(*values)).pods().values()
        found: dict[str, Any] = pod["metadata"]["annotations"]
        return found.get("checksum/config")

    usual = checksum(SINGLE)
    assert usual is not None
    assert usual == checksum(SINGLE, {"single": {"podLabels": {"a": "b"}}})
    assert usual != checksum(SINGLE, {"config": {"sampling": {"rate": 0.5}}})
    assert usual != checksum(SINGLE, {"suites": {"desk.yaml": "name: desk"}})
    assert checksum(SINGLE, {"restartOnConfigChange": False}) is None


def test_suites_and_rubrics_arrive_as_they_were_given(helm: Helm) -> None:
    rendered = helm.render(EXTRAS["suites"])
    assert rendered.one("ConfigMap", "spanjudge-suites")["data"] == EXTRAS["suites"]["suites"]
    assert rendered.one("ConfigMap", "spanjudge-rubrics")["data"] == EXTRAS["suites"]["rubrics"]
    config = rendered.config()
    assert config["suites"] == ["/etc/spanjudge/suites/*.yaml"]
    assert config["rubrics"] == ["/etc/spanjudge/rubrics/*.yaml"]
    ((_, container),) = containers(rendered)
    assert {"/etc/spanjudge/suites", "/etc/spanjudge/rubrics"} <= {
        each["mountPath"] for each in container["volumeMounts"]
    }


@pytest.mark.parametrize("where", ["PreferClose", "PreferSameZone"])
def test_traffic_may_be_kept_near(helm: Helm, schemas: Schemas, where: str) -> None:
    service = helm.render({"service": {"trafficDistribution": where}}).one("Service")
    assert service["spec"]["trafficDistribution"] == where
    schemas.check(service, VERSIONS[-1])


def test_a_key_that_is_null_stays_null(helm: Helm) -> None:
    """Left out, it would have its default: here, a header that anybody behind the proxy could send."""
    proxy = {"header": None, "trusted_proxies": ["10.0.0.0/8"]}
    assert helm.render({"config": {"access": {"proxy": proxy}}}).config()["access"]["proxy"] == proxy


def test_large_numbers_stay_numbers(helm: Helm) -> None:
    config = helm.render({"config": {"journal": {"max_bytes": 42949672960}}}).config()
    assert config["journal"] == {"max_bytes": 42949672960}


def test_the_label_service_stays_that_of_the_agent(helm: Helm) -> None:
    (endpoint,) = helm.render(EXTRAS["monitoring"]).one("ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["honorLabels"]
    assert {"action": "labeldrop", "regex": "service"} in endpoint["relabelings"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (SINGLE, ("OTLP/gRPC   spanjudge.agents.svc:4317", "Nobody is asked", "export.otlp.endpoint")),
        (merged(SCALED, EXTRAS["judge"]), ("statefulset/spanjudge-worker",)),
        (EXTRAS["no-volumes"], ("THERE IS NO VOLUME",)),
        (EXTRAS["tls"], ("https://127.0.0.1:9464/readyz",)),
    ],
    ids=["single", "scaled", "no-volumes", "tls"],
)
def test_the_notes_say_what_to_do_next(helm: Helm, values: Values, said: tuple[str, ...]) -> None:
    notes = helm.notes(values)
    assert all(words in notes for words in said), notes
