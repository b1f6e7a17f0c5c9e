{{- /* A Service's name has at most 63 characters, and "-operator-metrics" is the longest suffix. */ -}}
{{- define "espalier.fullname" -}}
{{- default (ternary .Release.Name (printf "%s-espalier" .Release.Name) (contains "espalier" .Release.Name)) .Values.fullnameOverride | trunc 46 | trimSuffix "-" -}}
{{- end -}}

{{- define "espalier.operator" -}}
{{- printf "%s-operator" (include "espalier.fullname" .) -}}
{{- end -}}

{{- define "espalier.selector" -}}
app.kubernetes.io/name: espalier
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "espalier.ownLabels" -}}
{{ include "espalier.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* (list CONTEXT LABELS...): the chart's labels, each of LABELS, and extraLabels. The first value of a key counts. */ -}}
{{- define "espalier.labelsWith" -}}
{{- $context := first . -}}
{{- $labels := include "espalier.ownLabels" $context | fromYaml -}}
{{- range rest . -}}
{{- $labels = merge $labels (default (dict) .) -}}
{{- end -}}
{{- merge $labels (default (dict) $context.Values.extraLabels) | toYaml -}}
{{- end -}}

{{- define "espalier.labels" -}}
{{- include "espalier.labelsWith" (list .) -}}
{{- end -}}

{{- define "espalier.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "espalier.operator" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "espalier.image" -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository .tag -}}
{{- end -}}
{{- end -}}

{{- define "espalier.coreImage" -}}
{{- include "espalier.image" (dict "repository" .Values.image.core "digest" .Values.image.coreDigest "tag" (default .Chart.AppVersion .Values.image.tag)) -}}
{{- end -}}

{{- define "espalier.trainerImage" -}}
{{- include "espalier.image" (dict "repository" .Values.image.trainer "digest" .Values.image.trainerDigest "tag" (default .Chart.AppVersion .Values.image.tag)) -}}
{{- end -}}

{{- /* Empty if trainers with CUDA use the image of the others. */ -}}
{{- define "espalier.trainerCudaImage" -}}
{{- if .Values.image.trainerCuda -}}
{{- include "espalier.image" (dict "repository" .Values.image.trainerCuda "digest" .Values.image.trainerCudaDigest "tag" (default .Chart.AppVersion .Values.image.tag)) -}}
{{- end -}}
{{- end -}}

{{- /* The name of the Secret with the metrics port's certificate; empty if the port or the Secret is not set. */ -}}
{{- define "espalier.metricsSecret" -}}
{{- with .Values.metrics.secure }}{{ if .enabled }}{{ .secretName }}{{ end }}{{ end -}}
{{- end -}}
