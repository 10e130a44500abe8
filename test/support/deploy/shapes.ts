// The members of the kinds of Kubernetes objects that deploy/k8s has, by its API of 1.30: those that the manifests use, so that a
// mistyped or misplaced one, which the API server would drop or refuse, is noticed.
type Shape =
  | 'text'
  | 'number'
  | 'truth'
  | 'texts'
  | 'map'
  | 'value'
  | readonly [Shape]
  | { readonly [member: string]: Shape }

const METADATA: Shape = { name: 'text', namespace: 'text', labels: 'map', annotations: 'map' }
const SELECTOR: Shape = { matchLabels: 'map', matchExpressions: [{ key: 'text', operator: 'text', values: 'texts' }] }
const PROBE: Shape = {
  httpGet: { path: 'text', port: 'value' },
  tcpSocket: { port: 'value' },
  periodSeconds: 'number',
  timeoutSeconds: 'number',
  failureThreshold: 'number',
}
const CONTAINER: Shape = {
  name: 'text',
  image: 'text',
  args: 'texts',
  env: [{ name: 'text', value: 'text' }],
  envFrom: [{ configMapRef: { name: 'text' } }],
  ports: [{ name: 'text', containerPort: 'number' }],
  readinessProbe: PROBE,
  livenessProbe: PROBE,
  startupProbe: PROBE,
  resources: { requests: 'map', limits: 'map' },
  securityContext: {
    allowPrivilegeEscalation: 'truth',
    readOnlyRootFilesystem: 'truth',
    capabilities: { drop: 'texts' },
  },
  volumeMounts: [{ name: 'text', mountPath: 'text', readOnly: 'truth' }],
}
const POD: Shape = {
  automountServiceAccountToken: 'truth',
  terminationGracePeriodSeconds: 'number',
  restartPolicy: 'text',
  securityContext: {
    runAsNonRoot: 'truth',
    runAsUser: 'number',
    runAsGroup: 'number',
    fsGroup: 'number',
    fsGroupChangePolicy: 'text',
    seccompProfile: { type: 'text' },
  },
  topologySpreadConstraints: [
    { maxSkew: 'number', topologyKey: 'text', whenUnsatisfiable: 'text', labelSelector: SELECTOR },
  ],
  containers: [CONTAINER],
  volumes: [
    {
      name: 'text',
      emptyDir: { medium: 'text', sizeLimit: 'text' },
      configMap: { name: 'text' },
      secret: { secretName: 'text', items: [{ key: 'text', path: 'text' }] },
    },
  ],
}
const TEMPLATE: Shape = { metadata: METADATA, spec: POD }
const PORTS: Shape = [{ name: 'text', port: 'number', targetPort: 'value', protocol: 'text', appProtocol: 'text' }]
const PEERS: Shape = [
  { namespaceSelector: SELECTOR, podSelector: SELECTOR, ipBlock: { cidr: 'text', except: 'texts' } },
]
const POLICY_PORTS: Shape = [{ port: 'value', protocol: 'text' }]
const SCALING: Shape = {
  stabilizationWindowSeconds: 'number',
  policies: [{ type: 'text', value: 'number', periodSeconds: 'number' }],
}

/** By version and kind. */
const KINDS: Readonly<Record<string, Shape>> = {
  'v1 Namespace': {},
  'v1 ConfigMap': { data: 'map' },
  'v1 Service': {
    spec: { clusterIP: 'text', publishNotReadyAddresses: 'truth', selector: 'map', ports: PORTS },
  },
  'apps/v1 StatefulSet': {
    spec: {
      serviceName: 'text',
      replicas: 'number',
      podManagementPolicy: 'text',
      selector: SELECTOR,
      template: TEMPLATE,
      volumeClaimTemplates: [
        { metadata: METADATA, spec: { accessModes: 'texts', resources: { requests: 'map', limits: 'map' } } },
      ],
    },
  },
  'apps/v1 Deployment': {
    spec: {
      replicas: 'number',
      strategy: { type: 'text', rollingUpdate: { maxSurge: 'value', maxUnavailable: 'value' } },
      selector: SELECTOR,
      template: TEMPLATE,
    },
  },
  'batch/v1 Job': {
    spec: { backoffLimit: 'number', ttlSecondsAfterFinished: 'number', template: TEMPLATE },
  },
  'policy/v1 PodDisruptionBudget': { spec: { maxUnavailable: 'value', selector: SELECTOR } },
  'networking.k8s.io/v1 NetworkPolicy': {
    spec: {
      podSelector: SELECTOR,
      policyTypes: 'texts',
      ingress: [{ from: PEERS, ports: POLICY_PORTS }],
      egress: [{ to: PEERS, ports: POLICY_PORTS }],
    },
  },
  'autoscaling/v2 HorizontalPodAutoscaler': {
    spec: {
      scaleTargetRef: { apiVersion: 'text', kind: 'text', name: 'text' },
      minReplicas: 'number',
      maxReplicas: 'number',
      metrics: [{ type: 'text', pods: { metric: { name: 'text' }, target: { type: 'text', averageValue: 'text' } } }],
      behavior: { scaleUp: SCALING, scaleDown: SCALING },
    },
  },
  'monitoring.coreos.com/v1 ServiceMonitor': {
    spec: {
      selector: SELECTOR,
      endpoints: [{ port: 'text', interval: 'text', relabelings: [{ targetLabel: 'text', replacement: 'text' }] }],
    },
  },
}

/** What is wrong with the members of an object: a path for each that its kind does not have or that has another type. */
export function shapeFaults(object: { readonly apiVersion: string; readonly kind: string }): string[] {
  const kind = `${object.apiVersion} ${object.kind}`
  const shape = KINDS[kind]
  if (shape === undefined) return [`there is no kind ${kind}`]
  const whole = { apiVersion: 'text', kind: 'text', metadata: METADATA, ...(shape as object) } as Shape
  return [...faultsOf(object, whole, kind)]
}

function* faultsOf(value: unknown, shape: Shape, path: string): Generator<string> {
  if (typeof shape === 'string') {
    if (!isA(value, shape)) yield `${path} is not ${shape}: ${JSON.stringify(value)}`
  } else if (isList(shape)) {
    if (!Array.isArray(value)) return yield `${path} is no list`
    for (const [i, entry] of value.entries()) yield* faultsOf(entry, shape[0], `${path}[${i}]`)
  } else {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return yield `${path} is no object`
    for (const [name, member] of Object.entries(value)) {
      const inner = shape[name]
      if (inner === undefined) yield `${path} has no ${name}`
      else yield* faultsOf(member, inner, `${path}.${name}`)
    }
  }
}

function isList(shape: Shape): shape is readonly [Shape] {
  return Array.isArray(shape)
}

function isA(value: unknown, type: string): boolean {
  switch (type) {
    case 'text':
      return typeof value === 'string'
    case 'number':
      return Number.isInteger(value)
    case 'truth':
      return typeof value === 'boolean'
    case 'texts':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
    case 'map':
      return typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')
    default:
      return typeof value === 'string' || Number.isInteger(value)
  }
}
