{{/* What values.schema.json cannot say: values that do not go together. Every problem is told at once. */}}

{{- define "spanjudge.checks" -}}
{{- $problems := concat
  (include "spanjudge.checkMode" . | fromYamlArray)
  (include "spanjudge.checkSecrets" . | fromYamlArray)
  (include "spanjudge.checkAdmin" . | fromYamlArray)
  (include "spanjudge.checkScaling" . | fromYamlArray)
-}}
{{- if $problems -}}
{{- fail (printf "\n\n  %s\n" (join "\n  " $problems)) -}}
{{- end -}}
{{- end }}

{{- define "spanjudge.checkMode" -}}
{{- $config := .Values.config | default dict -}}
{{- $name := include "spanjudge.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
- "{{ $name }} cannot be the name of a Service, which begins with a letter and has no dots: set fullnameOverride"
{{- end }}
{{- if eq .Values.mode "scaled" }}
{{- if not $config.kafka }}
- "mode scaled works through Kafka: set config.kafka.bootstrap_servers, or mode to single"
{{- end }}
{{- $workers := eq .Values.worker.autoscaling.kind "none" | ternary .Values.worker.replicas .Values.worker.autoscaling.maxReplicas }}
{{- if and (gt (int $workers) 1) (not (dig "store" "url" "" $config)) }}
- "workers need one PostgreSQL, or each sees its own sessions only: set config.store.url, with the password as ${env:NAME} (or worker.replicas to 1)"
{{- end }}
{{- if not (or (include "spanjudge.takes" (dict "root" . "protocol" "grpc")) (include "spanjudge.takes" (dict "root" . "protocol" "http"))) }}
- "receivers with config.receivers.grpc and config.receivers.http off take nothing: enable one of them"
{{- end }}
{{- end }}
{{- end }}

{{- define "spanjudge.checkSecrets" -}}
{{- $config := .Values.config | default dict -}}
{{- $known := concat (keys (.Values.secrets.env | default dict)) (list "POD_NAME" "SPANJUDGE_ROLE") -}}
{{- range .Values.extraEnv }}{{ $known = append $known .name }}{{ end -}}
{{- $text := $config | toJson -}}
{{- if not .Values.extraEnvFrom }}
{{- range regexFindAll "[$]?[$][{]env:[^}]*[}]" $text -1 | uniq }}
{{- $name := . | trimPrefix "${env:" | trimSuffix "}" }}
{{- if not (or (hasPrefix "$$" .) (contains ":-" $name) (has $name $known)) }}
- "config uses ${env:{{ $name }}}: name its Secret under secrets.env.{{ $name }} (secret, key), or set it under extraEnv"
{{- end }}
{{- end }}
{{- end }}
{{- range regexFindAll "/etc/spanjudge/secrets/[^/\"]+" $text -1 | uniq }}
{{- $name := base . }}
{{- if not (hasKey $.Values.secrets.files $name) }}
- "config uses {{ . }}/: name its Secret under secrets.files.{{ $name }} (secret)"
{{- end }}
{{- end }}
{{- end }}

{{- define "spanjudge.checkAdmin" -}}
{{- $config := .Values.config | default dict -}}
{{- if eq (dig "admin" "enabled" true $config) false }}
- "config.admin.enabled must stay true: probes and metrics are there"
{{- end }}
{{- if dig "admin" "tls" "client_ca_file" "" $config }}
- "config.admin.tls.client_ca_file asks everybody for a certificate, and the kubelet's probes have none: leave it out, and ask people for tokens instead"
{{- end }}
{{- if and .Values.serviceMonitor.enabled (eq (dig "access" "metrics" "open" $config) "token") (not .Values.serviceMonitor.endpoint.authorization) }}
- "config.access.metrics is token, and Prometheus has none: set serviceMonitor.endpoint.authorization.credentials (name and key of a Secret)"
{{- end }}
{{- $ports := values .Values.ports }}
{{- if ne (len $ports) (len (uniq $ports)) }}
- "ports.grpc, ports.http and ports.admin must differ"
{{- end }}
{{- end }}

{{- define "spanjudge.checkScaling" -}}
{{- $create := dig "kafka" "create" dict (.Values.config | default dict) -}}
{{- $limits := dict "router" (list "partitions" ($create.partitions | default 12)) "worker" (list "session_partitions" ($create.session_partitions | default 12)) -}}
{{- range $part := list "receiver" "router" "worker" }}
{{- with index $.Values $part }}
{{- $scaling := .autoscaling }}
{{- $most := eq $scaling.kind "none" | ternary .replicas $scaling.maxReplicas }}
{{- if gt (int $scaling.minReplicas) (int $scaling.maxReplicas) }}
- "{{ $part }}.autoscaling.minReplicas ({{ $scaling.minReplicas }}) must be at most maxReplicas ({{ $scaling.maxReplicas }})"
{{- end }}
{{- with index $limits $part }}
{{- if gt (int $most) (int (last .)) }}
- "{{ $most }} {{ $part }}s, and config.kafka.create.{{ first . }} is {{ last . }}: those above it stand idle"
{{- end }}
{{- end }}
{{- if and (eq $scaling.kind "keda") (not $.Values.keda.prometheusAddress) }}
- "{{ $part }}.autoscaling.kind keda asks Prometheus: set keda.prometheusAddress"
{{- end }}
{{- end }}
{{- end }}
{{- end }}
