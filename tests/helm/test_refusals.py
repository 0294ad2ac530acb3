"""Values that cannot work are refused before anything is installed, with what to do instead."""

from __future__ import annotations

import pytest

from tests.helm.cases import EXTRAS, SCALED, SINGLE, Values, merged
from tests.helm.rendering import Helm, Refused

pytestmark = [pytest.mark.integration("helm"), pytest.mark.timeout(1800)]

REFERENCE = "value must be 'a reference, ${env:NAME}, with the Secret of NAME under secrets.env'"

BY_SCHEMA: dict[str, tuple[Values, str]] = {
    "an unknown value": ({"replicaCount": 3}, "additional properties 'replicaCount' not allowed"),
    "an unknown mode": ({"mode": "cluster"}, "/mode"),
    "an unknown key of our configuration": ({"config": {"sessions": {"idle": 5}}}, "'idle' not allowed"),
    "a wrong type in our configuration": (
        {"config": {"sessions": {"idle_seconds": "long"}}},
        "/config/sessions/idle_s",
    ),
    "a key that the chart sets": ({"config": {"data_dir": "/mnt"}}, "'data_dir' not allowed"),
    "an address that the chart sets": (
        {"config": {"receivers": {"grpc": {"listen": "127.0.0.1:4317"}}}},
        "'listen' not allowed",
    ),
    "an API key": ({"config": {"judge": {"api_key": "sk-123"}}}, REFERENCE),
    "a password within a URL": (
        {"config": {"store": {"url": "postgresql://u:hunter2@db/spanjudge"}}},
        REFERENCE,
    ),
    "a password of Kafka": (
        merged(SCALED, {"config": {"kafka": {"password": "hunter2"}}}),
        REFERENCE,
    ),
    "a header with a secret": (
        {"config": {"export": {"otlp": {"endpoint": "http://c:4317", "headers": {"authorization": "Bearer 1"}}}}},
        REFERENCE,
    ),
    "a Secret without a key": ({"secrets": {"env": {"KEY": {"secret": "judge"}}}}, "missing property 'key'"),
    "a variable that the chart sets": ({"secrets": {"env": {"POD_NAME": {"secret": "a", "key": "b"}}}}, "POD_NAME"),
    "a digest that is none": ({"image": {"digest": "latest"}}, "/image/digest"),
    "a port that is none": ({"ports": {"grpc": 70000}}, "/ports/grpc"),
    "receivers by KEDA": ({"receiver": {"autoscaling": {"kind": "keda"}}}, "/receiver/autoscaling/kind"),
    "an image that was left empty": ({"image": None}, "missing property 'image'"),
    "a port that was left empty": ({"ports": {"grpc": None}}, "missing property 'grpc'"),
    "a name that is none": ({"fullnameOverride": "My_Judge"}, "/fullnameOverride"),
    "a suite that is no YAML file": ({"suites": {"desk.txt": ""}}, "'desk.txt' does not match pattern"),
}

BY_CHECKS: dict[str, tuple[Values, str]] = {
    "scaled out without Kafka": ({"mode": "scaled"}, "set config.kafka.bootstrap_servers, or mode to single"),
    "workers without a store": (
        {"mode": "scaled", "config": {"kafka": {"bootstrap_servers": "kafka:9092"}}},
        "set config.store.url",
    ),
    "a variable that nobody gives": (
        {"config": {"store": {"url": "${env:STORE_URL}"}}},
        "config uses ${env:STORE_URL}: name its Secret under secrets.env.STORE_URL",
    ),
    "a file that nobody mounts": (
        {"config": {"access": {"tokens_file": "/etc/spanjudge/secrets/people/tokens.yaml"}}},
        "name its Secret under secrets.files.people",
    ),
    "no admin listener": ({"config": {"admin": {"enabled": False}}}, "config.admin.enabled must stay true"),
    "probes that would need a certificate": (
        merged(EXTRAS["tls"], {"config": {"admin": {"tls": {"client_ca_file": "/etc/spanjudge/secrets/tls/ca.crt"}}}}),
        "the kubelet's probes have none",
    ),
    "metrics that Prometheus may not read": (
        merged(
            EXTRAS["auth"],
            {"config": {"access": {"metrics": "token"}}, "serviceMonitor": {"enabled": True}},
        ),
        "set serviceMonitor.endpoint.authorization",
    ),
    "one port for two": ({"ports": {"grpc": 4318}}, "must differ"),
    "more workers than partitions": (
        merged(SCALED, {"worker": {"replicas": 13}}),
        "13 workers, and config.kafka.create.session_partitions is 12: those above it stand idle",
    ),
    "more routers than partitions": (
        merged(
            SCALED,
            {
                "config": {"kafka": {"create": {"partitions": 4}}},
                "router": {"autoscaling": {"kind": "hpa", "maxReplicas": 6}},
            },
        ),
        "6 routers, and config.kafka.create.partitions is 4",
    ),
    "more at least than at most": (
        merged(SCALED, {"worker": {"autoscaling": {"kind": "hpa", "minReplicas": 9, "maxReplicas": 4}}}),
        "worker.autoscaling.minReplicas (9) must be at most maxReplicas (4)",
    ),
    "KEDA without Prometheus": (
        merged(SCALED, {"worker": {"autoscaling": {"kind": "keda"}}}),
        "set keda.prometheusAddress",
    ),
    "receivers that take nothing": (
        merged(SCALED, {"config": {"receivers": {"grpc": {"enabled": False}, "http": {"enabled": False}}}}),
        "take nothing",
    ),
}


@pytest.mark.parametrize("what", [*BY_SCHEMA, *BY_CHECKS])
def test_it_is_refused_with_a_clear_message(helm: Helm, what: str) -> None:
    values, said = (BY_SCHEMA | BY_CHECKS)[what]
    with pytest.raises(Refused) as refused:
        helm.render(values)
    assert said in str(refused.value)


@pytest.mark.parametrize("what", [what for what, (_, said) in BY_SCHEMA.items() if said == REFERENCE])
def test_a_secret_that_is_refused_is_not_repeated(helm: Helm, what: str) -> None:
    with pytest.raises(Refused) as refused:
        helm.render(BY_SCHEMA[what][0])
    assert not any(secret in str(refused.value) for secret in ("sk-123", "hunter2", "Bearer 1"))


def test_every_problem_between_values_is_told_at_once(helm: Helm) -> None:
    values = [BY_CHECKS[what][0] for what in ("no admin listener", "one port for two", "a variable that nobody gives")]
    with pytest.raises(Refused) as refused:
        helm.render(merged(*values))
    assert all(words in str(refused.value) for words in ("admin.enabled", "must differ", "STORE_URL"))


def test_variables_with_a_default_and_those_of_other_places_need_no_secret(helm: Helm) -> None:
    names = {"model": "${env:MODEL:-claude-opus-4-8}", "base_url": "${env:BASE_URL}"}
    extra = [{"name": "BASE_URL", "value": "http://proxy.internal"}]
    assert helm.render({"config": {"judge": names}, "extraEnv": extra}).config()["judge"] == names
    anything = {"extraEnvFrom": [{"secretRef": {"name": "all"}}]}
    assert helm.render({"config": {"store": {"url": "${env:STORE_URL}"}}, **anything}).workloads()


def test_what_belongs_to_a_chart_above_is_no_problem(helm: Helm) -> None:
    assert helm.render(merged(SINGLE, {"global": {"region": "north"}})).workloads()


def test_a_worker_that_is_alone_needs_no_store_beside_it(helm: Helm) -> None:
    alone = {"mode": "scaled", "config": {"kafka": {"bootstrap_servers": "kafka:9092"}}, "worker": {"replicas": 1}}
    assert helm.render(alone).workloads()["worker"]["spec"]["replicas"] == 1


def test_a_release_whose_name_no_service_may_have_is_refused_unless_it_is_named_otherwise(helm: Helm) -> None:
    with pytest.raises(Refused) as refused:
        helm.render(SINGLE, "9-lives")
    assert "9-lives-spanjudge cannot be the name of a Service" in str(refused.value)
    assert "set fullnameOverride" in str(refused.value)
    assert helm.render({"fullnameOverride": "judge"}, "9-lives").workloads()
