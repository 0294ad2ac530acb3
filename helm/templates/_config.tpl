{{/* Our configuration: what the values say, and over it what only the chart can know. */}}

{{- define "spanjudge.config" -}}
{{- $given := deepCopy (.Values.config | default dict) -}}
{{- $at := .Values.listenAddress -}}
{{- $ports := .Values.ports -}}
{{- $ours := dict
  "data_dir" "/data"
  "role" (eq .Values.mode "single" | ternary "all" "${env:SPANJUDGE_ROLE}")
  "receivers" (dict
    "grpc" (dict "listen" (printf "%s:%d" $at (int $ports.grpc)))
    "http" (dict "listen" (printf "%s:%d" $at (int $ports.http))))
  "admin" (dict "listen" (printf "%s:%d" $at (int $ports.admin)))
-}}
{{- if $given.kafka -}}
{{- $_ := set $ours "kafka" (dict "instance_id" "${env:POD_NAME}") -}}
{{- end -}}
{{- if or .Values.suites .Values.suiteConfigMaps -}}
{{- $_ := set $ours "suites" (append ($given.suites | default list) "/etc/spanjudge/suites/*.yaml") -}}
{{- end -}}
{{- if .Values.rubrics -}}
{{- $_ := set $ours "rubrics" (append ($given.rubrics | default list) "/etc/spanjudge/rubrics/*.yaml") -}}
{{- end -}}
{{ mergeOverwrite $given $ours | toYaml }}
{{- end }}

{{- /* Changes when pods have to be replaced for what ConfigMaps hold. */ -}}
{{- define "spanjudge.configChecksum" -}}
{{ list (include "spanjudge.config" .) .Values.suites .Values.rubrics | toJson | sha256sum }}
{{- end }}

{{- /* Does it take this protocol (grpc, http)? "true" or nothing. */ -}}
{{- define "spanjudge.takes" -}}
{{- if ne (dig "receivers" .protocol "enabled" true (.root.Values.config | default dict)) false }}true{{ end -}}
{{- end }}

{{- define "spanjudge.adminScheme" -}}
{{ dig "admin" "tls" dict (.Values.config | default dict) | empty | ternary "HTTP" "HTTPS" }}
{{- end }}
