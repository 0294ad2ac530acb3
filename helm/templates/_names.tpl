{{/* Names and labels. Those of a part (single, receiver, router, worker) take a dict with `root` and `part`. */}}

{{- define "spanjudge.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 43 | trimSuffix "-" }}
{{- end }}

{{- /* Short enough for what StatefulSets append to it. */ -}}
{{- define "spanjudge.fullname" -}}
{{- $name := include "spanjudge.name" . -}}
{{- $release := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{ .Values.fullnameOverride | default $release | trunc 43 | trimSuffix "-" }}
{{- end }}

{{- define "spanjudge.selector" -}}
app.kubernetes.io/name: {{ include "spanjudge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "spanjudge.labels" -}}
{{ include "spanjudge.selector" . }}
app.kubernetes.io/version: {{ regexReplaceAll "[^A-Za-z0-9]+$" (.Values.image.tag | default .Chart.AppVersion | trunc 63) "" | quote }}
app.kubernetes.io/part-of: spanjudge
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spanjudge.partName" -}}
{{ include "spanjudge.fullname" .root }}-{{ .part }}
{{- end }}

{{- define "spanjudge.partSelector" -}}
{{ include "spanjudge.selector" .root }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "spanjudge.partLabels" -}}
{{ include "spanjudge.labels" .root }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- /* Names of the parts that the mode has. */ -}}
{{- define "spanjudge.parts" -}}
{{ eq .Values.mode "single" | ternary "single" "receiver router worker" }}
{{- end }}

{{- define "spanjudge.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "spanjudge.fullname" .) "default") }}
{{- end }}

{{- define "spanjudge.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}
