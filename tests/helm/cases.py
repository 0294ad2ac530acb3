"""Values that people use: two modes, and what may come with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Values = dict[str, Any]

SINGLE: Values = {}
SCALED: Values = {
    "mode": "scaled",
    "config": {
        "kafka": {"bootstrap_servers": "kafka-1:9092,kafka-2:9092"},
        "store": {"url": "postgresql://spanjudge:${env:DB_PASSWORD}@db.internal:5432/spanjudge?sslmode=verify-full"},
    },
    "secrets": {"env": {"DB_PASSWORD": {"secret": "database", "key": "password"}}},
}
MODES: Mapping[str, Values] = {"single": SINGLE, "scaled": SCALED}

_CERTIFICATE = {
    "cert_file": "/etc/spanjudge/secrets/tls/tls.crt",
    "key_file": "/etc/spanjudge/secrets/tls/tls.key",
}
EXTRAS: Mapping[str, Values] = {
    "tls": {
        "config": {
            "receivers": {
                "grpc": {"tls": {**_CERTIFICATE, "client_ca_file": "/etc/spanjudge/secrets/tls/ca.crt"}},
                "http": {"tls": dict(_CERTIFICATE)},
            },
            "admin": {"tls": dict(_CERTIFICATE)},
        },
        "secrets": {"files": {"tls": {"secret": "spanjudge-tls"}}},
        "serviceMonitor": {"endpoint": {"tlsConfig": {"serverName": "spanjudge"}}},
    },
    "auth": {
        "config": {
            "receivers": {"auth": {"tokens_file": "/etc/spanjudge/secrets/senders/tokens.yaml"}},
            "access": {"tokens_file": "/etc/spanjudge/secrets/people/tokens.yaml"},
        },
        "secrets": {"files": {"senders": {"secret": "sender-tokens"}, "people": {"secret": "people-tokens"}}},
    },
    "judge": {
        "config": {"judge": {"model": "claude-opus-4-8", "budget": {"tokens_per_day": 2_000_000}}},
        "secrets": {"env": {"ANTHROPIC_API_KEY": {"secret": "judge", "key": "api-key"}}},
    },
    "kafka-sasl": {
        "config": {
            "kafka": {
                "bootstrap_servers": ["kafka-1:9093"],
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "SCRAM-SHA-512",
                "username": "spanjudge",
                "password": "${env:KAFKA_PASSWORD}",
                "tls": {"ca_file": "/etc/spanjudge/secrets/kafka/ca.crt"},
            }
        },
        "secrets": {
            "env": {"KAFKA_PASSWORD": {"secret": "kafka", "key": "password"}},
            "files": {"kafka": {"secret": "kafka-ca"}},
        },
    },
    "postgres": {
        "config": {"store": {"url": "${env:STORE_URL}"}},
        "secrets": {"env": {"STORE_URL": {"secret": "database", "key": "url"}}},
    },
    "monitoring": {
        "config": {"page": {"public_url": "https://judge.internal"}},
        "serviceMonitor": {"enabled": True, "labels": {"release": "kube-prometheus-stack"}},
        "prometheusRule": {
            "enabled": True,
            "labels": {"release": "kube-prometheus-stack"},
            "alertLabels": {"team": "agents"},
            "runbookBase": "https://wiki.internal/spanjudge",
        },
        "dashboards": {"enabled": True, "annotations": {"grafana_folder": "SpanJudge"}},
    },
    "hpa": {part: {"autoscaling": {"kind": "hpa"}} for part in ("receiver", "router", "worker")},
    "keda": {
        "receiver": {"autoscaling": {"kind": "hpa"}},
        "router": {"autoscaling": {"kind": "keda"}},
        "worker": {"autoscaling": {"kind": "keda"}},
        "keda": {"prometheusAddress": "http://prometheus.monitoring:9090", "authenticationRef": "prometheus"},
    },
    "network-policy": {
        "networkPolicy": {"enabled": True, "extraEgress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]}
    },
    "suites": {
        "suites": {"desk.yaml": "name: desk\nversion: '1'\ncases: []\n"},
        "suiteConfigMaps": ["more-suites"],
        "rubrics": {"tone.yaml": "text: '# not a comment'\n"},
        "restartOnConfigChange": False,
    },
    "no-volumes": {
        "single": {"persistence": {"enabled": False}},
        "worker": {"persistence": {"enabled": False}},
        "podDisruptionBudget": {"enabled": False},
        "serviceAccount": {"create": False},
    },
    "own-ways": {
        "fullnameOverride": "judge",
        "commonLabels": {"cost-centre": "1234"},
        "image": {"repository": "registry.example.com/spanjudge", "digest": f"sha256:{'0' * 64}"},
        "imagePullSecrets": [{"name": "registry"}],
        "ports": {"grpc": 14317, "http": 14318, "admin": 19464},
        "listenAddress": "[::]",
        "service": {"type": "LoadBalancer", "annotations": {"example.com/internal": "true"}},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.internal:3128"}],
        "extraEnvFrom": [{"configMapRef": {"name": "proxy"}}],
        "extraVolumes": [{"name": "ca", "configMap": {"name": "ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/ssl/extra"}],
        "extraObjects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "{{ .Release.Name }}-more"},
                "data": {"a": "b"},
            }
        ],
        **{
            part: {
                "nodeSelector": {"disk": "fast"},
                "tolerations": [{"key": "agents", "operator": "Exists"}],
                "affinity": {"nodeAffinity": {}},
                "priorityClassName": "high",
                "podAnnotations": {"a": "b"},
                "podLabels": {"c": "d"},
            }
            for part in ("single", "receiver", "router", "worker")
        },
    },
}


def merged(*each: Mapping[str, Any]) -> Values:
    """As Helm merges files of values: later ones win, maps are merged."""
    found: Values = {}
    for values in each:
        for key, value in values.items():
            below = found.get(key)
            both = isinstance(value, Mapping) and isinstance(below, Mapping)
            found[key] = merged(below, value) if both and below is not None else value
    return found


def matrix() -> Iterator[tuple[str, Values]]:
    """Each mode alone, with each extra, with as many as go together, and with these but for one."""
    for mode, values in MODES.items():
        yield mode, values
        for name, extra in EXTRAS.items():
            yield f"{mode}+{name}", merged(values, extra)
        together = [name for name in EXTRAS if name not in {"hpa", "no-volumes"}]
        for left_out in (None, *together):
            chosen = [EXTRAS[name] for name in together if name != left_out]
            yield f"{mode}+all" + (f"-{left_out}" if left_out else ""), merged(values, *chosen)
