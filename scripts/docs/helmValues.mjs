// The values of the Helm chart and their schema, by which Helm refuses mistyped ones.
import { parseDocument } from 'yaml'

const VALUES = `# Values of the chart: docs/operations/kubernetes.md says what to set.
image:
  # Your registry has the image: docs/operations/containers.md.
  repository: sluice
  tag: VERSION
  pullPolicy: IfNotPresent
imagePullSecrets: []
nodeSelector: {}
tolerations: []
# Of the secrets that you make, each key of which becomes a file.
secrets:
  name: sluice
  providerKeys: sluice-provider-keys
# Environment of proxies and controls, as texts. Values that you give are merged with these.
settings: {}
# The text of the catalog; the key of a provider is a file in /run/keys.
catalog: CATALOG
proxy:
  replicas: 2
  workers: 2
  # Longer than a proxy takes to drain, by the limits that it has.
  terminationGracePeriodSeconds: 45
  journalSize: 4Gi
  resources:
    requests: { cpu: '1', memory: 1Gi }
    limits: { memory: 2Gi }
  # By metrics of the proxies, which an adapter of custom metrics has to serve.
  autoscaling:
    enabled: false
    minReplicas: 3
    maxReplicas: 20
    # Open requests and event-loop delay of one pod, above which there are more of them.
    openRequests: '2500'
    loopDelay: 20m
control:
  replicas: 2
  resources:
    requests: { cpu: 500m, memory: 512Mi }
    limits: { memory: 2Gi }
# For the operator of Prometheus.
serviceMonitors:
  enabled: false
# A Valkey next to the proxies; without it, the secret has the address of yours.
valkey:
  enabled: false
  image: docker.io/valkey/valkey:8
  storage: 4Gi
  resources:
    requests: { cpu: 250m, memory: 512Mi }
    limits: { memory: 2Gi }
`

/** The text of values.yaml. @param kustomization that of the base, which has the settings */
export function chartValues({ configMapGenerator }, catalog, version) {
  const { literals } = configMapGenerator.find(({ name }) => name === 'sluice-settings')
  const document = parseDocument(VALUES)
  document.setIn(['image', 'tag'], version)
  document.set('settings', Object.fromEntries(literals.map((literal) => literal.split(/=(.*)/s))))
  document.set('catalog', catalog)
  return document.toString({ lineWidth: 0 })
}

const text = { type: 'string' }
const count = { type: 'integer', minimum: 1 }
const truth = { type: 'boolean' }
const object = (properties) => ({ type: 'object', properties, additionalProperties: false })
const quantities = { type: 'object', additionalProperties: { type: ['string', 'number'] } }
const resources = object({ requests: quantities, limits: quantities })

/** The schema of the values. */
export function chartSchema() {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...object({
      global: { type: 'object' },
      image: object({ repository: text, tag: text, pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] } }),
      imagePullSecrets: { type: 'array', items: object({ name: text }) },
      nodeSelector: { type: 'object', additionalProperties: text },
      tolerations: { type: 'array', items: { type: 'object' } },
      secrets: object({ name: text, providerKeys: text }),
      settings: { type: 'object', additionalProperties: text },
      catalog: text,
      proxy: object({
        replicas: count,
        workers: count,
        terminationGracePeriodSeconds: count,
        journalSize: text,
        resources,
        autoscaling: object({
          enabled: truth,
          minReplicas: count,
          maxReplicas: count,
          openRequests: text,
          loopDelay: text,
        }),
      }),
      control: object({ replicas: count, resources }),
      serviceMonitors: object({ enabled: truth }),
      valkey: object({ enabled: truth, image: text, storage: text, resources }),
    }),
  }
}
