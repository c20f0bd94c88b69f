{{- define "cannonade.name" -}}
{{- if contains "cannonade" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-cannonade{{ end -}}
{{- end }}

{{- define "cannonade.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "cannonade.coordinator" -}}
{{ .Values.coordinator | default (printf "%s-coordinator:7711" (include "cannonade.name" .)) }}
{{- end }}

{{/* What selects the pods of a part: (dict "part" "agent" "root" $). */}}
{{- define "cannonade.selector" -}}
app.kubernetes.io/name: cannonade
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "cannonade.labels" -}}
{{ include "cannonade.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- end }}

{{/* No pod asks the API for anything, and none has rights. */}}
{{- define "cannonade.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "cannonade.user" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "cannonade.container" -}}
image: {{ include "cannonade.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "cannonade.node" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Requests are limits, too. */}}
{{- define "cannonade.resources" -}}
resources:
  requests:
    cpu: {{ .cpu }}
    memory: {{ .memory }}
  limits:
    cpu: {{ .cpu }}
    memory: {{ .memory }}
{{- end }}
