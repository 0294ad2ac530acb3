{{/* The pod of a part, which takes a dict with `root`, `part`, `values` (those of the part) and `volume` (kept: data are
on a volume that the StatefulSet claims). */}}

{{- define "spanjudge.pod" -}}
metadata:
  labels:
    {{- include "spanjudge.partLabels" . | nindent 4 }}
    {{- with .values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: spanjudge
    {{- if .root.Values.restartOnConfigChange }}
    checksum/config: {{ include "spanjudge.configChecksum" .root }}
    {{- end }}
    {{- with .values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "spanjudge.serviceAccount" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  # Longer than SpanJudge takes to stop, whatever hangs: its deadline, the pause before it, and some to spare.
  terminationGracePeriodSeconds: {{ include "spanjudge.graceSeconds" .root }}
  containers:
    - name: spanjudge
      image: {{ include "spanjudge.image" .root | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [run, -c, /etc/spanjudge/config/spanjudge.yaml]
      securityContext:
        {{- toYaml .root.Values.securityContext | nindent 8 }}
      env:
        {{- include "spanjudge.env" . | nindent 8 }}
      {{- with .root.Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- if has .part (list "single" "receiver") }}
        {{- if include "spanjudge.takes" (dict "root" .root "protocol" "grpc") }}
        - {name: otlp-grpc, containerPort: {{ .root.Values.ports.grpc }}}
        {{- end }}
        {{- if include "spanjudge.takes" (dict "root" .root "protocol" "http") }}
        - {name: otlp-http, containerPort: {{ .root.Values.ports.http }}}
        {{- end }}
        {{- end }}
        - {name: admin, containerPort: {{ .root.Values.ports.admin }}}
      {{- include "spanjudge.probes" .root | nindent 6 }}
      {{- if and (gt (int .root.Values.preStopSleepSeconds) 0) (has .part (list "single" "receiver")) }}
      lifecycle:
        preStop:
          exec: {command: [sleep, {{ .root.Values.preStopSleepSeconds | quote }}]}
      {{- end }}
      resources:
        {{- toYaml .values.resources | nindent 8 }}
      volumeMounts:
        {{- include "spanjudge.volumeMounts" .root | nindent 8 }}
  volumes:
    {{- include "spanjudge.volumes" . | nindent 4 }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if ne .part "single" }}
  topologySpreadConstraints:
    {{- if .values.topologySpreadConstraints }}
    {{- toYaml .values.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "spanjudge.partSelector" $ | nindent 10 }}
    {{- end }}
    {{- end }}
  {{- end }}
  {{- with .values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
{{- end }}

{{- define "spanjudge.graceSeconds" -}}
{{ add (dig "shutdown_seconds" 20 (.Values.config | default dict) | ceil | int) (int .Values.preStopSleepSeconds) 10 }}
{{- end }}

{{- define "spanjudge.env" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- if ne .part "single" }}
- {name: SPANJUDGE_ROLE, value: {{ .part }}}
{{- end }}
{{- range $name, $from := .root.Values.secrets.env }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $from.secret }}, key: {{ $from.key }}}}
{{- end }}
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spanjudge.probes" -}}
{{- $scheme := include "spanjudge.adminScheme" . -}}
startupProbe: # it listens when what an earlier process left has been read back
  httpGet: {path: /livez, port: admin, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: {{ divf .Values.probes.startupSeconds 5 | ceil | int }}
livenessProbe: # answers whenever the process does, whatever Kafka, the store or the judge are at
  httpGet: {path: /livez, port: admin, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: {{ divf .Values.probes.livenessSeconds 10 | ceil | int }}
readinessProbe: # can it take telemetry?
  httpGet: {path: /readyz, port: admin, scheme: {{ $scheme }}}
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: {{ divf .Values.probes.readinessSeconds 5 | ceil | int }}
{{- end }}

{{- define "spanjudge.volumeMounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
- {name: config, mountPath: /etc/spanjudge/config, readOnly: true}
{{- if or .Values.suites .Values.suiteConfigMaps }}
- {name: suites, mountPath: /etc/spanjudge/suites, readOnly: true}
{{- end }}
{{- if .Values.rubrics }}
- {name: rubrics, mountPath: /etc/spanjudge/rubrics, readOnly: true}
{{- end }}
{{- range $name, $_ := .Values.secrets.files }}
- {name: secret-{{ $name }}, mountPath: /etc/spanjudge/secrets/{{ $name }}, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "spanjudge.volumes" -}}
{{- $name := include "spanjudge.fullname" .root -}}
- name: tmp
  emptyDir: {}
{{- if not .kept }}
- name: data
  emptyDir: {}
{{- end }}
- name: config
  configMap: {name: {{ $name }}}
{{- with .root.Values }}
{{- if or .suites .suiteConfigMaps }}
- name: suites
  projected:
    sources:
      {{- if .suites }}
      - configMap: {name: {{ $name }}-suites}
      {{- end }}
      {{- range .suiteConfigMaps }}
      - configMap: {name: {{ . }}}
      {{- end }}
{{- end }}
{{- if .rubrics }}
- name: rubrics
  configMap: {name: {{ $name }}-rubrics}
{{- end }}
{{- range $file, $from := .secrets.files }}
- name: secret-{{ $file }}
  secret: {secretName: {{ $from.secret }}, defaultMode: 0440}
{{- end }}
{{- with .extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
