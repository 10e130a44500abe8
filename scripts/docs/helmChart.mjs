// The Helm chart of deploy/helm, made of the same manifests as the overlays of kustomize, so that the two cannot differ.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMap, parse, parseAllDocuments, stringify } from 'yaml'
import { chartSchema, chartValues } from './helmValues.mjs'

const FOLDER = 'deploy/helm/sluice'
const NAME_LABEL = 'app.kubernetes.io/name'
const POD = ['spec', 'template', 'spec']
const CONTAINER = [...POD, 'containers', 0]

const json = (value) => `{{ toJson .Values.${value} }}`
const text = (value) => `{{ .Values.${value} | quote }}`

/** Places of every pod that the values fill in. */
const POD_HOLES = [
  [[...POD, 'imagePullSecrets'], json('imagePullSecrets')],
  [[...POD, 'nodeSelector'], json('nodeSelector')],
  [[...POD, 'tolerations'], json('tolerations')],
]
const IMAGE_HOLES = [
  [[...CONTAINER, 'image'], '{{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}'],
  [[...CONTAINER, 'imagePullPolicy'], text('image.pullPolicy')],
]
// A pod reads its settings when it starts, so a change of them has to make new pods.
const SETTINGS_SUM = [
  ['spec', 'template', 'metadata', 'annotations', 'checksum/settings'],
  '{{ toJson .Values.settings | sha256sum | quote }}',
]

/** Places of objects that the values fill in, by the kind and name of the object. */
const HOLES = {
  'StatefulSet/proxy': [
    [['spec', 'replicas'], json('proxy.replicas')],
    SETTINGS_SUM,
    [[...POD, 'terminationGracePeriodSeconds'], json('proxy.terminationGracePeriodSeconds')],
    ...IMAGE_HOLES,
    [[...CONTAINER, 'env', 2, 'value'], text('proxy.workers')],
    [[...CONTAINER, 'resources'], json('proxy.resources')],
    [[...POD, 'volumes', 2, 'secret', 'secretName'], text('secrets.name')],
    [[...POD, 'volumes', 3, 'secret', 'secretName'], text('secrets.providerKeys')],
    [['spec', 'volumeClaimTemplates', 0, 'spec', 'resources', 'requests', 'storage'], text('proxy.journalSize')],
  ],
  'Deployment/control': [
    [['spec', 'replicas'], json('control.replicas')],
    SETTINGS_SUM,
    [['spec', 'template', 'metadata', 'annotations', 'checksum/catalog'], '{{ .Values.catalog | sha256sum | quote }}'],
    ...IMAGE_HOLES,
    [[...CONTAINER, 'resources'], json('control.resources')],
    [[...POD, 'volumes', 3, 'secret', 'secretName'], text('secrets.name')],
    [[...POD, 'volumes', 4, 'secret', 'secretName'], text('secrets.providerKeys')],
  ],
  'Job/migrate': [
    // Helm replaces the job of the version before, and waits for its end before it changes anything else.
    [['metadata', 'annotations', 'helm.sh/hook'], 'pre-install,pre-upgrade'],
    [['metadata', 'annotations', 'helm.sh/hook-delete-policy'], 'before-hook-creation'],
    ...IMAGE_HOLES,
    [[...POD, 'volumes', 1, 'secret', 'secretName'], text('secrets.name')],
  ],
  'HorizontalPodAutoscaler/proxy': [
    [['spec', 'minReplicas'], json('proxy.autoscaling.minReplicas')],
    [['spec', 'maxReplicas'], json('proxy.autoscaling.maxReplicas')],
    [['spec', 'metrics', 0, 'pods', 'target', 'averageValue'], text('proxy.autoscaling.openRequests')],
    [['spec', 'metrics', 1, 'pods', 'target', 'averageValue'], text('proxy.autoscaling.loopDelay')],
  ],
  'StatefulSet/valkey': [
    [[...CONTAINER, 'image'], text('valkey.image')],
    [[...CONTAINER, 'resources'], json('valkey.resources')],
    [[...POD, 'volumes', 0, 'secret', 'secretName'], text('secrets.name')],
    [['spec', 'volumeClaimTemplates', 0, 'spec', 'resources', 'requests', 'storage'], text('valkey.storage')],
  ],
}

/** The templates: the manifest of each, and the value without which nothing of it is rendered. */
const TEMPLATES = [
  ['base/proxy.yaml'],
  ['base/control.yaml'],
  ['base/migrate.yaml'],
  ['base/network.yaml'],
  ['overlays/production/autoscaling.yaml', 'proxy.autoscaling.enabled'],
  ['overlays/production/monitoring.yaml', 'serviceMonitors.enabled'],
  ['overlays/small/valkey.yaml', 'valkey.enabled'],
]

const MAPS = `apiVersion: v1
kind: ConfigMap
metadata:
  name: sluice-settings
  labels: { ${NAME_LABEL}: sluice }
data: ${json('settings')}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: sluice-catalog
  labels: { ${NAME_LABEL}: sluice }
data:
  catalog.yaml: ${json('catalog')}
`

/** Puts a template in a place. The parser knows no templates, so a word stands for it until the text is written. */
function fill(document, path, template, templates) {
  document.setIn(path, document.createNode(`HOLE${templates.push(template) - 1}END`))
}

/** The labels that kustomize gives to every object and pod. */
function label(document) {
  for (const path of [
    ['metadata'],
    ['spec', 'template', 'metadata'],
    ['spec', 'volumeClaimTemplates', 0, 'metadata'],
  ]) {
    if (!isMap(document.getIn(path))) continue
    const labels = document.getIn([...path, 'labels'])?.toJSON() ?? {}
    document.setIn([...path, 'labels'], document.createNode({ [NAME_LABEL]: 'sluice', ...labels }))
  }
}

function template(source, condition) {
  const documents = parseAllDocuments(source)
  const templates = []
  for (const document of documents) {
    const kind = document.get('kind')
    label(document)
    for (const [path, hole] of HOLES[`${kind}/${document.getIn(['metadata', 'name'])}`] ?? [])
      fill(document, path, hole, templates)
    if (isMap(document.getIn(POD))) for (const [path, hole] of POD_HOLES) fill(document, path, hole, templates)
  }
  const written = documents.map((document) => document.toString({ lineWidth: 0 })).join('')
  const filled = written.replace(/HOLE(\d+)END/g, (_, number) => templates[Number(number)])
  // The autoscaler says how many there are.
  const scaled = filled.replace(
    /^ *replicas: .*proxy\.replicas.*\n/m,
    (line) => `{{- if not .Values.proxy.autoscaling.enabled }}\n${line}{{- end }}\n`,
  )
  return condition === undefined ? scaled : `{{- if .Values.${condition} }}\n${scaled}{{- end }}\n`
}

/**
 * The files of the chart.
 * @param {string} root the folder of the project
 * @returns {[name: string, text: string][]}
 */
export function helmChart(root) {
  const read = (path) => readFileSync(join(root, 'deploy/k8s', path), 'utf8')
  const { version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const chart = {
    apiVersion: 'v2',
    name: 'sluice',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.27.0-0',
  }
  const kustomization = parse(read('base/kustomization.yaml'))
  return [
    [`${FOLDER}/Chart.yaml`, stringify(chart)],
    [`${FOLDER}/values.yaml`, chartValues(kustomization, read('base/catalog.yaml'), version)],
    [`${FOLDER}/values.schema.json`, `${JSON.stringify(chartSchema(), null, 2)}\n`],
    [`${FOLDER}/templates/maps.yaml`, MAPS],
    ...TEMPLATES.map(([path, condition]) => [
      `${FOLDER}/templates/${path.split('/').at(-1)}`,
      template(read(path), condition),
    ]),
  ]
}
